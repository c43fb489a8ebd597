import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { status } from "@grpc/grpc-js";

import { ErrorReason, PluginService, SchedulingService, SimulationService } from "../src/contract.js";
import { CommitMode, type Reason } from "../src/index.js";
import { pauseMs, ruleFor } from "../src/repeats.js";
import { ask, fail, FakeServer, reply } from "./fake_server.js";

const { openSession } = SimulationService.method;
const { schedule, bind } = SchedulingService.method;
const { getCapabilities } = PluginService.method;
const POD = { metadata: { name: "web", uid: "u1" } };

test("the rule is that of the contract suite", () => {
  const file = new URL("../../../contract/repeats.json", import.meta.url);
  const rules: Record<string, string> = JSON.parse(readFileSync(file, "utf8"));
  const reasons = Object.keys(ErrorReason).filter((name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED");
  assert.deepEqual(Object.fromEntries(reasons.map((reason) => [reason, ruleFor(reason as Reason, status.UNAVAILABLE)])), rules);
});

for (const code of Object.values(status).filter((each) => typeof each === "number")) {
  const lost = code === status.UNAVAILABLE || code === status.CANCELLED;
  test(`without a reason ${status[code]} is ${lost ? "" : "not "}repeated`, () => {
    assert.equal(ruleFor("", code), lost ? "idempotent" : "never");
  });
}

test("pauses grow to a second, and half of each is by chance", () => {
  for (const [repeat, longest] of [50, 100, 200, 400, 800, 1000, 1000].entries()) {
    for (let i = 0; i < 100; i++) {
      const pause = pauseMs(repeat);
      assert.ok(longest / 2 <= pause && pause <= longest, `${pause} after ${repeat}`);
    }
  }
});

test("what the server did not begin is repeated, even if it is not idempotent", async () => {
  const rejected = fail(openSession, status.RESOURCE_EXHAUSTED, ErrorReason.OVERLOADED);
  const session = await ask([rejected, rejected, reply(openSession, { session: { id: "s1" } })], (client) => client.openSession());
  assert.equal(session.id, "s1");
});

test("a lost answer of what is not idempotent is an error", async () => {
  const lost = fail(openSession, status.UNAVAILABLE);
  await assert.rejects(ask([lost], (client) => client.openSession()), { code: status.UNAVAILABLE, reason: "", repeatable: false });
});

test("a lost answer of what is idempotent is asked for again", async () => {
  const lost = fail(schedule, status.UNAVAILABLE);
  const answer = reply(schedule, {
    nodes: { nodes: { case: "names", value: { names: ["n1"] } } },
    verdicts: [{ code: 1 }], podVerdicts: [0], totals: [7n],
  });
  const placements = await ask([lost, answer], (client) => client.schedule({ template: POD }, { mode: CommitMode.RESERVE }));
  assert.equal(placements[0]?.node, "n1");
});

test("a commit follows the leader and stays there; other calls don't", async () => {
  const bound = reply(bind, { outcome: 1 });
  await using leader = await FakeServer.start(bound, bound);
  const told = fail(bind, status.UNAVAILABLE, ErrorReason.NOT_LEADER, { leader_address: leader.address });
  await ask([told, reply(getCapabilities, {})], async (client) => {
    const pod = { namespace: "default", name: "web", uid: "u1" };
    assert.equal(await client.bind(pod, "n1"), 1);
    await client.call(getCapabilities, {});
    assert.equal(await client.bind(pod, "n1"), 1);
  });
  assert.equal(leader.steps.length, 0);
});

test("a signal ends a pause with its reason", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const rejected = fail(getCapabilities, status.UNAVAILABLE, ErrorReason.NOT_SYNCED);
  const aborting: typeof rejected = { ...rejected, answer: (request: Uint8Array) => (setImmediate(() => controller.abort(reason)), rejected.answer(request)) };
  await assert.rejects(
    ask([aborting], (client) => client.call(getCapabilities, {}, { signal: controller.signal })),
    (error) => error === reason,
  );
});

test("an error has what the server says", async () => {
  const failed = fail(getCapabilities, status.NOT_FOUND, ErrorReason.PROFILE_NOT_FOUND, { profile: "x", known: "a,b" });
  await assert.rejects(ask([failed], (client) => client.call(getCapabilities, {})), {
    name: "MooringError", message: "as the test says", code: status.NOT_FOUND, reason: "PROFILE_NOT_FOUND",
    metadata: { profile: "x", known: "a,b" }, repeatable: false,
  });
});
