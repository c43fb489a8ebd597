/** Plays the contract suite. clients/contract/README.md has its commands. */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { ContractClass, PluginService, PodReferenceSchema } from "../src/contract.js";
import { type CallOptions, Client, CommitMode, CommitOutcome, MooringError, Session, type Verdict, VerdictCode } from "../src/index.js";

/** A command, with arguments as the suite has checked them. */
type Command = { readonly [argument: string]: any };

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { ca: { type: "string" }, cert: { type: "string" }, key: { type: "string" }, "max-message-bytes": { type: "string" } },
});
const read = (file: string | undefined) => file === undefined ? undefined : readFileSync(file);
const client = new Client(positionals[0]!, {
  tls: flags.ca !== undefined && { ca: read(flags.ca), cert: read(flags.cert), key: read(flags.key) },
  maxMessageBytes: Number(flags["max-message-bytes"] ?? 2 ** 26),
});

const named = (names: Record<number, string>, value = 0) => (value ? names[value] : "");
const verdictOf = ({ code, plugin, reasons, message }: Verdict) => ({ code: named(VerdictCode, code), plugin, reasons, message });
const referenceOf = ({ namespace, name, uid } = create(PodReferenceSchema)) => ({ namespace, name, uid });
const objectOf = <A, B>(map: ReadonlyMap<string, A>, value: (each: A) => B) =>
  Object.fromEntries([...map].map(([name, each]) => [name, value(each)]));
const stateOf = ({ changeCount, nodeCount, podCount }: Awaited<ReturnType<Session["revert"]>>) =>
  ({ change_count: changeCount, node_count: nodeCount, pod_count: podCount });

const CALLS: { readonly [call: string]: (command: Command, options: CallOptions) => Promise<unknown> } = {
  async schedule({ pods, mode = "DRY_RUN", seed = 0, among, session, profile }, options) {
    const asked = { ...options, among, session, profile, mode: CommitMode[mode as keyof typeof CommitMode], seed: BigInt(seed) };
    return (await client.schedule(pods, asked)).map(({ uid, node, total, verdict, outcome }) =>
      ({ uid, node: node ?? "", total, verdict: verdictOf(verdict), outcome: named(CommitOutcome, outcome) }));
  },
  async reserve({ pod, node, profile }, options) {
    const { verdict, outcome } = await client.reserve(pod, node, { ...options, profile });
    return { verdict: verdictOf(verdict), outcome: named(CommitOutcome, outcome) };
  },
  async unreserve({ pods }, options) {
    const ended = await client.unreserve(pods.map(({ uid }: { uid: string }) => uid), options);
    return { released: ended.filter(({ released }) => released).map(({ uid }) => uid) };
  },
  async list_reservations(_, options) {
    return (await client.listReservations(options)).map(({ pod, node }) => ({ ...referenceOf(pod), node }));
  },
  async list_nodes({ labels }, options) {
    const { epoch, added } = await client.listNodes({ ...options, labelSelector: labels });
    return { epoch, nodes: added };
  },
  async watch_nodes({ updates }, options) {
    const taken = [];
    for await (const update of client.watchNodes(options)) {
      if (taken.push(update) === updates) break;
    }
    return taken;
  },
  async watch_decisions({ updates, after }, options) {
    const taken = [];
    for await (const { decisions } of client.watchDecisions({ ...options, afterSeq: after === undefined ? after : BigInt(after) })) {
      taken.push(...decisions.map(({ seq, pod, node }) => ({ seq, pod: referenceOf(pod), node })));
      if (taken.length >= updates) break;
    }
    return taken.slice(0, updates);
  },
  async filter({ pod, among, session, profile, parts }, options) {
    const { verdict, nodes } = await client.filter(pod, { ...options, among, session, profile, inParts: parts });
    return { verdict: verdictOf(verdict), nodes: objectOf(nodes, verdictOf) };
  },
  async score({ pod, among, session, profile, parts }, options) {
    const { weightSum, nodes } = await client.score(pod, { ...options, among, session, profile, inParts: parts });
    return { weight_sum: weightSum, nodes: objectOf(nodes, (total) => total) };
  },
  async explain({ pod, among, session, profile, parts }, options) {
    const { verdict, node, nodes } = await client.explain(pod, { ...options, among, session, profile, inParts: parts });
    const explained = objectOf(nodes, ({ verdict, total, scores }) =>
      ({ verdict: verdictOf(verdict), total: total ?? null, scores: objectOf(scores, (score) => score) }));
    return { verdict: verdictOf(verdict), node: node ?? "", nodes: explained };
  },
  async bind({ pod, node, profile }, options) {
    return { outcome: named(CommitOutcome, await client.bind(pod, node, { ...options, profile })) };
  },
  async open_session({ from }, options) {
    return { session: (await client.openSession({ ...options, from })).id };
  },
  async change_session({ session, put, remove }, options) {
    return stateOf(await new Session(client, session).change({ put, remove }, options));
  },
  async mark_session({ session }, options) {
    return { mark: await new Session(client, session).mark(options) };
  },
  async revert_session({ session, mark }, options) {
    return stateOf(await new Session(client, session).revert(mark, options));
  },
  async commit_session({ session, mark }, options) {
    return stateOf(await new Session(client, session).commit(mark, options));
  },
  async close_session({ session }, options) {
    await new Session(client, session).close(options);
    return {};
  },
  async capabilities(_, options) {
    const answer = await client.call(PluginService.method.getCapabilities, {}, options);
    return {
      contract_revision: answer.contractRevision,
      contract_classes: answer.contractClasses.map((each) => named(ContractClass, each)),
      commit_modes: answer.commitModes.map((mode) => named(CommitMode, mode)),
    };
  },
};

function errorOf(error: unknown): unknown {
  if (!(error instanceof MooringError)) throw error;
  const { code, reason, message, metadata, fieldViolations, repeatable } = error;
  const fields = fieldViolations.map(({ field, description }) => ({ field, description }));
  return { code: status[code], reason, message, metadata, fields, repeat: repeatable };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { call, timeout, ...command } = JSON.parse(line);
  const said = await CALLS[call]!(command, { timeoutMs: timeout * 1000 }).then((result) => ({ result }), (error) => ({ error: errorOf(error) }));
  console.log(JSON.stringify(said, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
}
client.close();
