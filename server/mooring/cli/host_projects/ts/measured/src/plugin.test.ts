import assert from "node:assert/strict";
import { test } from "node:test";

import { parsed } from "./plugin.js";

test("each line is the load of a node", () => {
  assert.deepEqual(parsed("n1 4000\nn2 1000\n"), { n1: 4000, n2: 1000 });
});
