/** The client with a real server on the sample cluster: `mooring serve`, which MOORING names. */

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { status } from "@grpc/grpc-js";

import { Client, CommitMode, VerdictCode } from "../src/index.js";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const MOORING = process.env.MOORING ?? pathOf("../../../../.venv/bin/mooring");
const WEB = {
  metadata: { name: "web", namespace: "default", uid: "web" },
  spec: { containers: [{ name: "web", resources: { requests: { cpu: "100m" } } }] },
};

async function serve(listen: string): Promise<[ChildProcess, string]> {
  const elsewhere = ["--health-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--drain-delay", "0s"];
  const server = spawn(MOORING, ["serve", "--source", "sample", "--listen", listen, ...elsewhere], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: server.stdout! })) {
    const ready = /^mooring ready: grpc=(\S+)/.exec(line);
    if (ready) return [server, ready[1]!];
  }
  throw new Error("mooring serve did not become ready");
}

async function stop(server: ChildProcess): Promise<void> {
  server.kill();
  await once(server, "exit");
}

let server: ChildProcess;
let address: string;
let client: Client;

before(async () => {
  [server, address] = await serve("127.0.0.1:0");
  client = new Client(address);
});

after(async () => {
  client.close();
  await stop(server);
});

for (const [example, ...args] of [["schedule.js"], ["what_if.js", "16"]]) {
  test(`the example ${example} runs`, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [pathOf(`../../examples/${example}`), address, ...args]);
    if (example === "schedule.js") assert.match(stdout, /^web-1 worker-\S+\nweb-2 worker-\S+\n$/);
    else assert.match(stdout, /^room for \d+ more pods$/m);
  });
}

test("filter, score, explain and schedule agree", async () => {
  const { nodes: verdicts } = await client.filter(WEB);
  const feasible = [...verdicts].filter(([, { code }]) => code === VerdictCode.SUCCESS).map(([node]) => node);
  const { nodes: totals } = await client.score(WEB, { among: feasible });
  const explanation = await client.explain(WEB);
  const [placement] = await client.schedule({ template: WEB });
  assert.equal(explanation.node, placement!.node);
  assert.equal(totals.get(placement!.node!), placement!.total);
  for (const [node, { verdict, total }] of explanation.nodes) {
    assert.equal(verdict.code, verdicts.get(node)?.code, node);
    assert.equal(total, totals.get(node), node);
  }
});

test("a session is private, and goes back to a mark", async () => {
  await using session = await client.openSession();
  const nodes = [...(await session.filter(WEB)).nodes.keys()];
  const mark = await session.mark();
  await session.change({ remove: [{ kind: "Node", name: nodes[0]! }] });
  await session.schedule({ template: WEB, uids: ["a", "b"] }, { mode: CommitMode.RESERVE });
  assert.deepEqual([...(await session.filter(WEB)).nodes.keys()], nodes.slice(1));
  await session.revert(mark);
  assert.deepEqual([...(await session.filter(WEB)).nodes.keys()], nodes);
});

test("an error has its reason and what it is about", async () => {
  await assert.rejects(client.filter(WEB, { profile: "x" }), {
    name: "MooringError", code: status.NOT_FOUND, reason: "PROFILE_NOT_FOUND", metadata: { profile: "x", known: "default-scheduler" },
  });
  const wrong = client.filter({ metadata: {}, spec: { nodeSelector: 1 } });
  await assert.rejects(wrong, ({ reason, fieldViolations }) => reason === "REQUEST_INVALID" && fieldViolations.length > 0);
});

test("a server on a Unix socket that starts again is found, with its new indices", async () => {
  const socket = `unix:${join(mkdtempSync(join(tmpdir(), "mooring-")), "socket")}`;
  const [first] = await serve(socket);
  const patient = new Client(socket, { timeoutMs: 120_000 });
  const { nodes } = await patient.filter(WEB);
  await stop(first);
  const asked = patient.filter(WEB, { among: [...nodes.keys()] });
  const [second] = await serve(socket);
  assert.deepEqual([...(await asked).nodes.keys()], [...nodes.keys()]);
  patient.close();
  await stop(second);
});
