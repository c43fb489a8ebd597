import assert from "node:assert/strict";
import { test } from "node:test";

import { Values } from "mooring-client/plugin-host";

import { OFFERED, REQUESTED, score } from "./plugin.js";

test("the emptier node has more points", () => {
  for (const [used, expected] of [[0, 100], [2, 75], [9, 0]] as const) {
    const node = Values.of({ [OFFERED]: 8, [REQUESTED]: used });
    assert.equal(score(node, node), expected);
  }
});
