import { expect, test } from "vitest";

import { choose, mix64 } from "../src/matrix/tie_break";

/** What mix64 of server/mooring/runtime/cycle/tie_break.py gives. */
test.each([
  [0n, "", 4331143152044847043n],
  [0n, "u1", 1125048836118846319n],
  [7n, "3f2504e0-4f89-11d3-9a0c-0305e82c3301", 5384930755427196352n],
  [2n ** 64n - 1n, "x".repeat(300), 13504973334090989384n],
  [1n, "ä→", 16663942552216011800n],
  [3n, "y".repeat(128), 5419727239873276349n],
])("seed %d and %s give the server's number", (seed, text, wanted) => {
  expect(mix64(seed, text)).toBe(wanted);
});

test("one node needs no choice", () => {
  expect(choose(5n, "u", 1)).toBe(0);
  expect(choose(0n, "u1", 2)).toBe(1);
});
