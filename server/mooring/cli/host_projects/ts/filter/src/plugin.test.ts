import assert from "node:assert/strict";
import { test } from "node:test";

import { Values } from "mooring-client/plugin-host";

import { filter, TIER, WANTED } from "./plugin.js";

test("a pod goes to the tier that it asks for", () => {
  const pod = Values.of({ [WANTED]: "gold" });
  assert.equal(filter(pod, Values.of({ [TIER]: "gold" })), undefined);
  assert.equal(filter(pod, Values.of({ [TIER]: "iron" }))?.unresolvable, true);
});
