import assert from "node:assert/strict";
import { test } from "node:test";

import { status } from "@grpc/grpc-js";

import { ClusterService, DecisionService, ErrorReason, SchedulingService } from "../src/contract.js";
import type { Client } from "../src/index.js";
import { ask, fail, reply, stream } from "./fake_server.js";

const { watchNodes, listNodes } = ClusterService.method;
const { watchDecisions } = DecisionService.method;

/** Nodes by index, as a part of an answer. */
function nodes(nodeEpoch: bigint, added: Record<number, string>, rest: { complete?: boolean; more?: boolean; removedIndices?: number[] } = {}) {
  const names = { nodes: { case: "names" as const, value: { names: Object.values(added) } } };
  return { provenance: { nodeEpoch }, indices: Object.keys(added).map(Number), nodes: names, ...rest };
}

async function first<T>(count: number, updates: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const update of updates) {
    if (taken.push(update) === count) break;
  }
  return taken;
}

test("a watch of nodes goes on from its last epoch, and joins parts", async () => {
  const begun = stream(watchNodes, ({ sinceEpoch }) => {
    assert.equal(sinceEpoch, undefined);
    return [nodes(1n, { 0: "a" }, { complete: true, more: true }), nodes(1n, { 1: "b" }), nodes(2n, { 2: "c" }, { more: true })];
  }, status.UNAVAILABLE);
  const again = stream(watchNodes, ({ sinceEpoch }) => {
    assert.equal(sinceEpoch, 1n);
    return [nodes(1n, {}), nodes(2n, { 0: "c" }, { removedIndices: [0, 5] })];
  });
  const updates = await ask([begun, again], (client: Client) => first(2, client.watchNodes()));
  assert.deepEqual(updates, [
    { epoch: 1n, complete: true, added: ["a", "b"], removed: [] },
    { epoch: 2n, complete: false, added: ["c"], removed: ["a"] },
  ]);
});

test("a watch of decisions goes on after the last one that it read", async () => {
  const answer = (seq: bigint, rest = {}) => ({ decisions: [{ seq }], nextAfterSeq: seq, journalId: "j", ...rest });
  const begun = stream(watchDecisions, ({ afterSeq, journalId }) => {
    assert.deepEqual([afterSeq, journalId], [7n, ""]);
    return [{ nextAfterSeq: 7n, journalId: "j" }, answer(8n)];
  });
  const again = stream(watchDecisions, ({ afterSeq, journalId }) => {
    assert.deepEqual([afterSeq, journalId], [8n, "j"]);
    return [answer(11n, { missedCount: 2n })];
  });
  const updates = await ask([begun, again], (client) => first(2, client.watchDecisions({ afterSeq: 7n })));
  assert.deepEqual(updates.map(({ decisions, missedCount }) => [decisions[0]?.seq, missedCount]), [[8n, 0n], [11n, 2n]]);
});

test("a watch that may not be repeated fails", async () => {
  const rejected = stream(watchNodes, () => [], status.PERMISSION_DENIED);
  await assert.rejects(ask([rejected], (client) => first(1, client.watchNodes())), { code: status.PERMISSION_DENIED });
});

test("pages are followed to the end, from the beginning again if the server forgot them", async () => {
  const page = (token: string, name: string, nextPageToken: string) => reply(listNodes, ({ pageToken }) => {
    assert.equal(pageToken, token);
    return { ...nodes(1n, { [name.charCodeAt(0)]: name }), complete: true, nextPageToken };
  });
  const forgotten = fail(listNodes, status.FAILED_PRECONDITION, ErrorReason.PAGE_TOKEN_STALE);
  const steps = [page("", "x", "t"), forgotten, page("", "a", "u"), page("u", "b", "v"), page("v", "c", "")];
  const { added, epoch } = await ask(steps, (client) => client.listNodes());
  assert.deepEqual([added, epoch], [["a", "b", "c"], 1n]);
});

test("places are listed and given up", async () => {
  const { listReservations, unreserveMany } = SchedulingService.method;
  const listed = reply(listReservations, { reservations: [{ pod: { uid: "u1" }, node: "n1" }] });
  const ended = reply(unreserveMany, ({ uids }) => ({ pods: uids.map((uid) => ({ uid, released: uid === "u1" })) }));
  await ask([listed, ended], async (client) => {
    assert.deepEqual((await client.listReservations()).map(({ pod, node }) => [pod?.uid, node]), [["u1", "n1"]]);
    assert.deepEqual((await client.unreserve(["u1", "u2"])).map(({ released }) => released), [true, false]);
  });
});
