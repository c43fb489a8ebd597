import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the example of the README is the one that is run", () => {
  assert.ok(read("README.md").includes("```js\n" + read("examples/schedule.js") + "```\n"));
});
