import assert from "node:assert/strict";
import { test } from "node:test";

import { Values } from "../src/plugin_host.js";

test("values are texts, numbers or absent", () => {
  const node = Values.of({ "metadata.name": "n1", "requested[cpu]": 5, "metadata.labels[rack]": undefined });
  assert.equal(node.text("metadata.name"), "n1");
  assert.equal(node.number("requested[cpu]"), 5);
  assert.equal(node.has("metadata.labels[rack]"), false);
  assert.equal(node.text("metadata.labels[rack]"), "");
});

test("a value that was not declared is a fault", () => {
  assert.throws(() => Values.of({}).text("metadata.name"), /"metadata.name" is not declared/);
});
