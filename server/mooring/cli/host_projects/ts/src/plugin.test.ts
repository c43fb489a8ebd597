import assert from "node:assert/strict";
import { test } from "node:test";

import { Values } from "mooring-client/plugin-host";

import { filter, MAINTENANCE, RACK, score, WANTED } from "./plugin.js";

test("the rack that the pod asks for is preferred", () => {
  const pod = Values.of({ [WANTED]: "r1" });
  assert.equal(score(pod, Values.of({ [RACK]: "r1" })), 100);
  assert.equal(score(pod, Values.of({ [RACK]: "r2" })), 0);
});

test("a node in maintenance is rejected", () => {
  const node = Values.of({ [MAINTENANCE]: "" });
  assert.equal(filter(node, node)?.unresolvable, true);
});
