import { describe, expect, test } from "vitest";

import { age, duration, parseQuantity, quantity } from "../src/matrix/amounts";
import { outcome, pointName, quoted, word } from "../src/page/words";

describe("amounts", () => {
  test.each([
    ["cpu", 1500, "1.5"],
    ["memory", 1536 * 1024 ** 2, "1.5Gi"],
    ["memory", 0, "0"],
    ["ephemeral-storage", -2048, "-2Ki"],
    ["example.com/gpu", 3, "3"],
    ["pods", 1110, "1,110"],
  ])("%s %d is %s", (resource, value, text) => expect(quantity(resource, value)).toBe(text));

  test.each([
    ["cpu", "7910m", 7910],
    ["cpu", "8", 8000],
    ["memory", "32Gi", 32 * 2 ** 30],
    ["memory", "1e3", 1000],
    ["memory", "1E", 1e18],
    ["pods", "58", 58],
  ])("%s of %s is %d", (resource, text, value) => expect(parseQuantity(resource, text)).toBe(value));

  test.each([
    ["0.00085s", "850 µs"],
    ["0.0031s", "3.1 ms"],
    ["61s", "61 s"],
    ["7300s", "2 h"],
    [undefined, ""],
  ])("%s takes %s", (text, said) => expect(duration(text)).toBe(said));

  test("an age is the time since", () => {
    expect(age("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:03:10Z"))).toBe("3 min");
    expect(age(undefined)).toBe("");
  });
});

describe("words", () => {
  test("enumerations lose their prefix", () => {
    expect(word("QUEUE_PLACE_IN_FLIGHT", "QUEUE_PLACE_")).toBe("in flight");
    expect(pointName("EXTENSION_POINT_PRE_FILTER")).toBe("PreFilter");
  });

  test.each([
    ["prod/web-1", "prod/web-1"],
    ["it's", `'it'\\''s'`],
    ["$(reboot)", "'$(reboot)'"],
    ["", "''"],
  ])("%s is safe in a shell", (text, safe) => expect(quoted(text)).toBe(safe));

  test("every outcome has a mark beside its colour", () => {
    expect(outcome({ result: "DECISION_RESULT_SCHEDULED", node: "n1" })).toMatchObject({ mark: "✓", text: "n1" });
    const dominant = { plugin: "NodeAffinity", reason: "no match" };
    expect(outcome({ result: "DECISION_RESULT_UNSCHEDULABLE", dominant })).toMatchObject({ mark: "✕", text: "NodeAffinity: no match" });
    expect(outcome({ result: "DECISION_RESULT_FAILED" })).toMatchObject({ mark: "⚠", text: "failed" });
  });
});
