import assert from "node:assert/strict";
import { test } from "node:test";

import { status } from "@grpc/grpc-js";

import { ClusterService, ErrorReason, NodeForm, SchedulingService } from "../src/contract.js";
import { CommitMode, CommitOutcome, VerdictCode } from "../src/index.js";
import { ask, fail, reply } from "./fake_server.js";

const { schedule, filter, score, explain } = SchedulingService.method;
const POD = { metadata: { name: "web", namespace: "default", uid: "u0" } };
const SUCCESS = { code: VerdictCode.SUCCESS };
const FULL = { code: VerdictCode.UNSCHEDULABLE, plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"] };

/** An answer's nodes, by index. */
const indices = (nodeEpoch: bigint, ...indices: number[]) => ({ nodes: { case: "indices" as const, value: { nodeEpoch, indices } } });
const names = (...names: string[]) => ({ nodes: { case: "names" as const, value: { names } } });

/** A list of all nodes, asked for since an epoch. */
const listed = (since: bigint | undefined, nodeEpoch: bigint, nodes: Record<number, string>) =>
  reply(ClusterService.method.listNodes, (request) => {
    assert.equal(request.sinceEpoch, since);
    return { provenance: { nodeEpoch }, complete: true, indices: Object.keys(nodes).map(Number), nodes: names(...Object.values(nodes)) };
  });

test("a batch is templates and columns, and its answer one result a pod", async () => {
  const answer = reply(schedule, (request) => {
    assert.deepEqual(request.pods?.templateIndices, [0, 0, 1]);
    assert.deepEqual(request.pods.uids, ["u1", "u2", "u3"]);
    assert.deepEqual(request.pods.names, ["web-1", "web-2", "db-1"]);
    assert.equal(request.templates.length, 2);
    assert.equal(request.nodes?.answerForm, NodeForm.NAMES);
    return {
      nodes: names("n1", "", "n1"), verdicts: [SUCCESS, FULL], podVerdicts: [0, 1, 0], totals: [300n, 0n, 200n],
      outcomes: [CommitOutcome.LOCAL, 0, CommitOutcome.ALREADY_BOUND],
    };
  });
  const groups = [
    { template: POD, uids: ["u1", "u2"], names: ["web-1", "web-2"] },
    { template: POD, uids: ["u3"], names: ["db-1"] },
  ];
  const placements = await ask([answer], (client) => client.schedule(groups, { mode: CommitMode.BIND }));
  assert.deepEqual(
    placements.map(({ uid, node, total, verdict, outcome }) => [uid, node, total, verdict.code, outcome]),
    [
      ["u1", "n1", 300n, VerdictCode.SUCCESS, CommitOutcome.LOCAL],
      ["u2", undefined, 0n, VerdictCode.UNSCHEDULABLE, 0],
      ["u3", "n1", 200n, VerdictCode.SUCCESS, CommitOutcome.ALREADY_BOUND],
    ],
  );
});

test("a pod without a UID is asked about by itself", async () => {
  const answer = reply(schedule, (request) => {
    assert.deepEqual([request.pods?.templateIndices, request.pods?.uids], [[0], []]);
    return { nodes: names("n1"), verdicts: [SUCCESS], podVerdicts: [0], totals: [0n] };
  });
  const [placement] = await ask([answer], (client) => client.schedule({ template: { metadata: { name: "web" } } }));
  assert.equal(placement?.node, "n1");
});

test("names that are not as many as UIDs are an error", async () => {
  const uneven = [{ template: POD, uids: ["u1"], names: ["a"] }, { template: POD, uids: ["u2"] }];
  await assert.rejects(ask([], (client) => client.schedule(uneven)), RangeError);
});

test("without a column of verdicts every node is feasible", async () => {
  const answer = reply(filter, { verdict: SUCCESS, verdicts: { distinct: [SUCCESS] }, nodes: indices(8n, 2, 0) });
  const { nodes } = await ask([answer, listed(undefined, 8n, { 0: "a", 2: "c" })], (client) => client.filter(POD));
  assert.deepEqual([...nodes].map(([node, { code }]) => [node, code]), [["c", VerdictCode.SUCCESS], ["a", VerdictCode.SUCCESS]]);
});

test("the question is repeated while its epoch is another one than that of the list", async () => {
  const at = (epoch: bigint) => reply(filter, { verdict: FULL, verdicts: { distinct: [SUCCESS, FULL], nodeVerdicts: [1] }, nodes: indices(epoch, 0) });
  const steps = [at(8n), listed(undefined, 9n, { 0: "b" }), at(10n), listed(9n, 10n, { 0: "c" })];
  const { nodes } = await ask(steps, (client) => client.filter(POD));
  assert.deepEqual(nodes.get("c")?.reasons, ["Insufficient cpu"]);
});

test("an index that the list lacks is never another node", async () => {
  const unknown = reply(filter, { verdict: SUCCESS, verdicts: { distinct: [SUCCESS] }, nodes: indices(8n, 5) });
  const known = reply(filter, { verdict: SUCCESS, verdicts: { distinct: [SUCCESS] }, nodes: indices(8n, 0) });
  const list = listed(undefined, 8n, { 0: "a" });
  const { nodes } = await ask([unknown, list, known], (client) => client.filter(POD));
  assert.deepEqual([...nodes.keys()], ["a"]);
});

test("nodes are named by index, again when the epoch is stale", async () => {
  const stale = fail(score, status.FAILED_PRECONDITION, ErrorReason.NODE_EPOCH_STALE);
  const answer = reply(score, ({ nodes }) => {
    assert.deepEqual(nodes?.selection, { case: "indices", value: { ...nodes?.selection.value, nodeEpoch: 9n, indices: [1, 0] } });
    return { verdicts: { distinct: [SUCCESS] }, totals: [20n, 10n], weightSum: 3n };
  });
  const steps = [listed(undefined, 8n, { 0: "a", 1: "b" }), stale, listed(8n, 9n, { 0: "b", 1: "a" }), answer];
  const { nodes, weightSum } = await ask(steps, (client) => client.score(POD, { among: ["a", "b"] }));
  assert.deepEqual([[...nodes], weightSum], [[["a", 20n], ["b", 10n]], 3n]);
});

test("nodes that the server lacks are named by name, and have no score", async () => {
  const lacking = { code: VerdictCode.UNSCHEDULABLE_AND_UNRESOLVABLE };
  const answer = reply(score, ({ nodes }) => {
    assert.equal(nodes?.selection.case, "names");
    return { verdicts: { distinct: [SUCCESS, lacking], nodeVerdicts: [0, 1] }, totals: [20n, 0n] };
  });
  const { nodes } = await ask([listed(undefined, 8n, { 0: "a" }), answer], (client) => client.score(POD, { among: ["a", "x"] }));
  assert.deepEqual([...nodes], [["a", 20n]]);
});

test("in a session nodes have names", async () => {
  const answer = reply(filter, ({ nodes, session }) => {
    assert.deepEqual([session, nodes?.answerForm], ["s1", NodeForm.NAMES]);
    return { verdict: SUCCESS, verdicts: { distinct: [SUCCESS] }, nodes: names("a") };
  });
  const { nodes } = await ask([answer], (client) => client.filter(POD, { session: "s1" }));
  assert.deepEqual([...nodes.keys()], ["a"]);
});

test("an explanation has the scores of each node", async () => {
  const answer = reply(explain, {
    verdict: SUCCESS, nodes: indices(8n, 0, 1, 2), verdicts: { distinct: [SUCCESS, FULL], nodeVerdicts: [0, 1, 0] },
    scoredPositions: [0, 2], totals: [110n, 120n], selectedPosition: 2,
    plugins: [{ plugin: "Fit", weight: 1n, raw: [5n, 6n], normalized: [10n, 20n], weighted: [10n, 20n] }],
  });
  const steps = [answer, listed(undefined, 8n, { 0: "a", 1: "b", 2: "c" })];
  const { node, nodes } = await ask(steps, (client) => client.explain(POD));
  assert.equal(node, "c");
  assert.deepEqual(nodes.get("c")?.scores.get("Fit"), { raw: 6n, normalized: 20n, weighted: 20n });
  assert.deepEqual([nodes.get("b")?.total, nodes.get("b")?.scores.size, nodes.get("b")?.verdict.plugin], [undefined, 0, "NodeResourcesFit"]);
});

test("an answer that contradicts the contract is an error", async () => {
  const answer = reply(schedule, { nodes: names("n1"), verdicts: [SUCCESS], podVerdicts: [7], totals: [0n] });
  await assert.rejects(ask([answer], (client) => client.schedule({ template: POD })), { code: status.INTERNAL });
});
