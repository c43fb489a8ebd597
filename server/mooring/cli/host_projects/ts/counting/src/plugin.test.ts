import assert from "node:assert/strict";
import { test } from "node:test";

import { Values } from "mooring-client/plugin-host";

import { APP, filter, IN_RACK, MOST } from "./plugin.js";

test("a rack with enough pods is rejected", () => {
  const pod = Values.of({ [APP]: "web" });
  assert.equal(filter(pod, Values.of({ [IN_RACK]: MOST - 1 })), undefined);
  assert.ok(filter(pod, Values.of({ [IN_RACK]: MOST })));
});
