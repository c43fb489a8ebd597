// Schedules one pod through mooring, one extension point after the other, and binds it.
//
// It calls Filter, Score and NormalizeScore, adds the weighted scores up itself, and checks that the outcome is what
// Schedule (as a dry run) says: the same highest total, reached by the same nodes. Then it calls Bind.

import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const PROTOS = fileURLToPath(new URL("../../../../protos", import.meta.url));
const DEADLINE_MS = 10_000;

// Connects and returns the calls as functions that give promises. 64-bit numbers are decimal strings.
function connect(address) {
  const definition = protoLoader.loadSync("mooring/v1/scheduling_service.proto", {
    includeDirs: [PROTOS],
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const { SchedulingService } = grpc.loadPackageDefinition(definition).mooring.v1;
  const client = new SchedulingService(address, grpc.credentials.createInsecure());
  const call = (method) => {
    const invoke = promisify(client[method]).bind(client);
    return async (request) => {
      try {
        return await invoke(request, { deadline: Date.now() + DEADLINE_MS });
      } catch (error) {
        throw new Error(`${method}: ${error.message}`, { cause: error });
      }
    };
  };
  return {
    filter: call("Filter"),
    score: call("Score"),
    normalizeScore: call("NormalizeScore"),
    schedule: call("Schedule"),
    bind: call("Bind"),
    close: () => client.close(),
  };
}

// What Schedule says: node (null if there is none), total, ties, message.
async function scheduleWhole(mooring, pod) {
  const answer = await mooring.schedule({
    templates: [{ pod }],
    commitMode: "COMMIT_MODE_DRY_RUN",
    includeTies: true,
  });
  const verdict = answer.verdicts[answer.podVerdicts[0]];
  if (verdict.code !== "VERDICT_CODE_SUCCESS") {
    return { node: null, total: 0n, ties: [], message: verdict.message };
  }
  return {
    node: answer.nodes.names.names[0],
    total: BigInt(answer.totals[0]),
    ties: answer.ties[0].names.names,
    message: "",
  };
}

// What the calls one by one add up to: the feasible nodes, the plugins' columns, the totals, the best nodes.
async function compose(mooring, pod) {
  const { nodes: all, verdicts } = await mooring.filter({ pod });
  const indices = verdicts.nodeVerdicts;
  const feasible = (all.names?.names ?? []).filter((_, i) => indices.length === 0 || indices[i] === 0);
  if (feasible.length < 2) {
    return { feasible, plugins: [], totals: feasible.map(() => 0n), best: feasible }; // Schedule does not score it either
  }
  const nodes = { names: { names: feasible } };
  const scored = await mooring.score({ pod, nodes });
  const { plugins } = await mooring.normalizeScore({ pod, nodes, plugins: scored.plugins });
  const totals = feasible.map((_, i) => plugins.reduce((sum, plugin) => sum + BigInt(plugin.weighted[i]), 0n));
  const highest = max(totals);
  return { feasible, plugins, totals, best: feasible.filter((_, i) => totals[i] === highest) };
}

function max(totals) {
  return totals.reduce((a, b) => (a > b ? a : b));
}

// Throws when the two answers differ. Which of several best nodes Schedule takes is its own choice.
function compare(composed, whole) {
  if (composed.best.length === 0 && whole.node === null) return;
  const [ours, theirs] = [composed.best, whole.ties].map((names) => [...names].sort().join(", "));
  if (ours !== theirs) throw new Error(`the best nodes are ${ours} one by one, but ${theirs} by Schedule`);
  const highest = max(composed.totals);
  if (highest !== whole.total) {
    throw new Error(`the highest total is ${highest} one by one, but ${whole.total} by Schedule`);
  }
  if (!composed.best.includes(whole.node)) {
    throw new Error(`Schedule selected ${whole.node}, which is not among the best`);
  }
}

function print(composed, selected) {
  const rows = composed.feasible.map((node, i) => [
    node,
    ...composed.plugins.map((plugin) => plugin.weighted[i]),
    String(composed.totals[i]),
    node === selected ? "selected" : "",
  ]);
  const table = [["NODE", ...composed.plugins.map((plugin) => plugin.plugin), "TOTAL", ""], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  for (const row of table) console.log(row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
}

async function run(address, reference) {
  const mooring = connect(address);
  try {
    const pod = { reference };
    const whole = await scheduleWhole(mooring, pod);
    const composed = await compose(mooring, pod);
    compare(composed, whole);
    if (whole.node === null) {
      console.log(`no node is feasible: ${whole.message}`);
      return;
    }
    print(composed, whole.node);
    const { outcome } = await mooring.bind({ pod: reference, node: whole.node });
    console.log(`${reference.namespace}/${reference.name} -> ${whole.node}: ${outcome}`);
  } finally {
    mooring.close();
  }
}

const [address, namespace, name, uid, ...rest] = process.argv.slice(2);
if (!uid || rest.length > 0) {
  console.error("usage: node client.js HOST:PORT NAMESPACE NAME UID");
  process.exitCode = 2;
} else {
  try {
    await run(address, { namespace, name, uid });
  } catch (error) {
    console.error(`client: ${error.message}`);
    process.exitCode = 1;
  }
}
