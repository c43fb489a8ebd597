import { describe, expect, test } from "vitest";

import { most, pendingByCause, secondsOf, stacked } from "../src/matrix/series";

const cause = (reason: string, podCount: number) => ({ plugin: "P", reason, podCount });

describe("pending pods over time", () => {
  test("have a series for each cause, that with the most pods first", () => {
    const spans = [{ pendingCount: 1, causes: [cause("a", 1)] }, { pendingCount: 5, causes: [cause("b", 3), cause("a", 1)] }];
    expect(pendingByCause(spans)).toEqual([
      { name: "P: b", values: [0, 3] },
      { name: "P: a", values: [1, 1] },
      { name: "other causes", values: [0, 1] },
    ]);
  });

  test("with many causes have one series for the rest", () => {
    const causes = ["a", "b", "c", "d", "e", "f", "g"].map((reason, at) => cause(reason, 10 - at));
    const found = pendingByCause([{ pendingCount: 49, causes }]);
    expect(found.map(({ name }) => name)).toEqual(["P: a", "P: b", "P: c", "P: d", "other causes"]);
    expect(found.at(-1)!.values).toEqual([6 + 5 + 4]);
  });

  test("lie on top of each other", () => {
    expect(stacked([{ name: "a", values: [1, 2] }, { name: "b", values: [3, 0] }])).toEqual([
      { lower: [0, 0], upper: [1, 2] },
      { lower: [1, 2], upper: [4, 2] },
    ]);
    expect(stacked([])).toEqual([]);
  });
});

test("a span without decisions has no duration", () => {
  expect([secondsOf("0.5s"), secondsOf(undefined)]).toEqual([0.5, Number.NaN]);
  expect(most([1, Number.NaN, 3])).toBe(3);
});
