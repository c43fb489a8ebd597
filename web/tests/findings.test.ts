import { describe, expect, test } from "vitest";

import document from "../../docs/reason-codes.md?raw";
import { codesIn } from "../src/matrix/codes";
import { causeOf, comparison, factsOf, measured, subjectOf } from "../src/matrix/findings";

describe("a finding", () => {
  const cpu = { subjectKind: "SUBJECT_KIND_RESOURCE", subject: "cpu", code: "REASON_CODE_INSUFFICIENT_RESOURCE" } as const;

  test("is said in the unit of its resource", () => {
    expect(comparison({ ...cpu, amounts: { asked: "64000", taken: "500", limit: "4000" } })).toBe("asks 64 · 0.5 of 4 taken");
    expect(measured({ subjectKind: "SUBJECT_KIND_RESOURCE", subject: "memory" }, String(2 ** 30))).toBe("1Gi");
    expect(comparison({ asked: "disk=ssd", present: "disk=hdd" })).toBe("asks disk=ssd · has disk=hdd");
    expect(comparison({})).toBe("");
  });

  test("does not say again what its message says", () => {
    const taint = { subjectKind: "SUBJECT_KIND_TAINT", subject: "a:NoSchedule", present: "a:NoSchedule" } as const;
    expect(factsOf({ ...taint, message: "taint a:NoSchedule is not tolerated" })).toBe("");
    expect(factsOf({ ...taint, message: "it is not tolerated" })).toBe("taint a:NoSchedule: has a:NoSchedule");
  });

  test("has a cause and a subject in words", () => {
    expect(causeOf(cpu)).toBe("InsufficientResource");
    expect(causeOf({ customCode: "RackFull" })).toBe("RackFull");
    expect(causeOf({})).toBe("");
    expect(subjectOf(cpu)).toBe("resource cpu");
    expect(subjectOf({ subjectKind: "SUBJECT_KIND_OTHER", subject: "rack 7" })).toBe("rack 7");
  });
});

test("each reason code of the document is known by name", () => {
  const codes = codesIn(document);
  expect(codes.map(({ number }) => Number(number)).sort((a, b) => a - b)).toEqual(codes.map((_, at) => at + 1));
  expect(codes.find(({ name }) => name === "TaintNotTolerated")).toMatchObject({
    plugin: "TaintToleration",
    subject: "Taint",
    text: "node(s) had untolerated taint(s)",
  });
});
