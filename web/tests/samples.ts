/** Matrices and columns to test with. */

import type { VerdictJson } from "../src/contract/mooring/v1/verdicts_pb";
import type { Matrix } from "../src/matrix/matrix";

export const SUCCESS: VerdictJson = { code: "VERDICT_CODE_SUCCESS" };
export const TAINTED: VerdictJson = {
  code: "VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE",
  plugin: "TaintToleration",
  reasons: ["node(s) had untolerated taint(s)"],
};
export const TOO_SMALL: VerdictJson = { code: "VERDICT_CODE_UNSCHEDULABLE", plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"] };

/** Returns a matrix of four nodes: n0 and n2 tied at 160, n1 with 150, n3 rejected by two plugins. */
export function matrixOf(changes: Partial<Matrix> = {}): Matrix {
  return {
    made: "now",
    decision: undefined,
    differences: [],
    assigned: "",
    pod: { namespace: "prod", name: "web", uid: "u1" },
    provenance: { profile: "default-scheduler" },
    verdict: SUCCESS,
    seed: 0n,
    nodes: ["n0", "n1", "n2", "n3"],
    suffix: "",
    distinct: [SUCCESS, TAINTED, TOO_SMALL],
    verdicts: Uint8Array.of(0, 0, 0, 1),
    scored: Uint8Array.of(0, 1, 2),
    plugins: [
      { name: "Fit", weight: 1, raw: Uint8Array.of(60, 90, 60), normalized: Uint8Array.of(60, 90, 60) },
      { name: "Spread", weight: 2, raw: Int8Array.of(5, 3, 5), normalized: Uint8Array.of(50, 30, 50) },
    ],
    selected: 2,
    ties: Uint8Array.of(0, 2),
    rejections: { nodes: Uint8Array.of(3, 3), verdicts: Uint8Array.of(1, 2) },
    findings: { distinct: [], nodes: new Uint8Array(), indices: new Uint8Array() },
    podFindings: [],
    preemptionFindings: [],
    resources: [{ name: "cpu", requested: 4000, free: Float64Array.of(8000, 8000, 8000, 1500) }],
    warnings: [],
    evaluated: 4,
    feasible: 3,
    ...changes,
  };
}

/** Returns the gateway's bytes of a header and arrays. */
export function bytesOf(header: object, arrays: Record<string, Uint8Array | Int32Array | Float64Array>): ArrayBuffer {
  const entries: object[] = [];
  let offset = 0;
  for (const [name, values] of Object.entries(arrays)) {
    const dtype = values.constructor.name.replace("Array", "").toLowerCase();
    entries.push({ name, dtype, shape: [values.length], offset });
    offset += Math.ceil(values.byteLength / 8) * 8;
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: entries }));
  const begin = Math.ceil((4 + text.length) / 8) * 8;
  const bytes = new Uint8Array(begin + offset);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  Object.values(arrays).forEach((values, index) => {
    const { offset: at } = entries[index] as { offset: number };
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), begin + at);
  });
  return bytes.buffer;
}
