import { describe, expect, test } from "vitest";

import { configurationDifferences } from "../src/matrix/configuration";
import { decodeColumns } from "../src/matrix/columns";
import { decodeMatrix } from "../src/matrix/decode";
import { differences } from "../src/matrix/differences";
import { funnel } from "../src/matrix/funnel";
import { closestNode, findingsOf, isEven, rejectionsOf } from "../src/matrix/matrix";
import { commonSuffix } from "../src/matrix/names";
import { rank, weightsOf } from "../src/matrix/ranking";
import { isSelector, rowsOf } from "../src/matrix/rows";
import { sentence } from "../src/matrix/sentence";
import { weightsYaml } from "../src/matrix/weights_yaml";
import { bytesOf, matrixOf, SUCCESS, TAINTED, TOO_SMALL } from "./samples";

describe("columns", () => {
  test("arrays are read where the header says", () => {
    const bytes = bytesOf({ made: "now" }, { a: Uint8Array.of(1, 2, 3), b: Int32Array.of(-5), c: Float64Array.of(2 ** 60) });
    const { header, arrays } = decodeColumns<{ made: string }>(bytes);
    expect(header.made).toBe("now");
    expect([...arrays].map(([name, values]) => [name, ...values])).toEqual([
      ["a", 1, 2, 3],
      ["b", -5],
      ["c", 2 ** 60],
    ]);
  });

  test.each([
    ["nothing", new ArrayBuffer(2), /too few/],
    ["a header that is cut off", Uint8Array.of(99, 0, 0, 0, 123).buffer, /cut off/],
    ["an array that is cut off", bytesOf({}, { a: Uint8Array.of(1, 2, 3) }).slice(0, -8), /outside the answer/],
  ])("%s is said to be wrong", (_name, bytes, text) => {
    expect(() => decodeColumns(bytes)).toThrow(text);
  });

  test("a decision's columns are its matrix", () => {
    const header = {
      ...{ made: "kept", pod: { name: "web" }, assigned: "", provenance: {}, verdict: SUCCESS, distinct: [SUCCESS, TAINTED], seed: "7" },
      ...{ nodes: ["a.x", "b.x"], plugins: [{ name: "Fit", weight: 3 }], resources: [{ name: "cpu", requested: 5 }], warnings: [] },
      ...{ evaluated: 2, feasible: 1, selected: 0 },
    };
    const arrays = { verdicts: Uint8Array.of(0, 1), scored: Uint8Array.of(0), "normalized.0": Uint8Array.of(9), "free.0": Int32Array.of(1, -2) };
    const matrix = decodeMatrix(bytesOf(header, arrays));
    expect([matrix.seed, matrix.suffix, matrix.selected]).toEqual([7n, ".x", 0]);
    expect([...matrix.plugins[0]!.normalized, ...matrix.resources[0]!.free]).toEqual([9, 1, -2]);
  });
});

describe("ranking", () => {
  test("the selected one of the highest totals is first, rejected nodes are last", () => {
    const ranking = rank(matrixOf(), [1, 2]);
    expect([...ranking.order]).toEqual([2, 0, 1, 3]);
    expect([...ranking.totals]).toEqual([160, 150, 160, Number.NaN]);
  });

  test("the weights in force select what the decision selected", () => {
    const matrix = matrixOf();
    expect(rank(matrix, weightsOf(matrix)).ties).toEqual([0, 2]);
    expect(rank(matrix, weightsOf(matrix)).selected).toBe(matrix.selected);
  });

  test("other weights select another node", () => {
    expect(rank(matrixOf(), [3, 1])).toMatchObject({ selected: 1, ties: [1], runnerUp: 0 });
  });

  test("nothing scored keeps the decision's node", () => {
    const single = matrixOf({ scored: new Uint8Array(), plugins: [], selected: 1 });
    expect(rank(single, [])).toMatchObject({ selected: 1, ties: [], runnerUp: undefined });
  });
});

describe("rows", () => {
  const rows = (column: string, descending: boolean, words = "", points: "raw" | "weighted" = "weighted") =>
    rowsOf(matrixOf(), rank(matrixOf(), [1, 2]), { column, descending }, points, words);

  test.each([
    ["total", true, [2, 0, 1, 3]],
    ["total", false, [3, 1, 2, 0]],
    ["node", true, [3, 2, 1, 0]],
    ["verdict", true, [3, 2, 0, 1]],
    ["plugin-0", true, [1, 2, 0, 3]],
    ["plugin-1", false, [3, 1, 2, 0]],
  ])("by %s, descending %s", (column, descending, wanted) => expect(rows(column, descending)).toEqual(wanted));

  test.each([
    ["N1", [1]],
    ["taint", [3]],
    ["insufficient", [3]],
    ["nothing", []],
  ])("with %s in a name or reason", (words, wanted) => expect(rows("total", true, words)).toEqual(wanted));
});

describe("funnel", () => {
  test("each plugin takes away the nodes that it was first to reject", () => {
    const matrix = matrixOf({ verdicts: Uint8Array.of(0, 2, 1, 2), scored: Uint8Array.of(0) });
    expect(funnel(matrix).map(({ plugin, rejected, left }) => [plugin, rejected, left])).toEqual([
      ["NodeResourcesFit", 2, 2],
      ["TaintToleration", 1, 1],
    ]);
  });

  test("the decision's order of plugins counts", () => {
    const decision = { rejectingPlugins: ["TaintToleration", "NodeResourcesFit"] };
    const matrix = matrixOf({ verdicts: Uint8Array.of(0, 2, 1, 2), decision });
    expect(funnel(matrix).map(({ plugin }) => plugin)).toEqual(decision.rejectingPlugins);
  });

  test("what is left is what is feasible, whatever the verdicts", () => {
    for (let seed = 0; seed < 50; seed++) {
      const verdicts = Uint8Array.from({ length: 40 }, (_, node) => (node * (seed + 7) + seed) % 3);
      const stages = funnel(matrixOf({ nodes: Array.from(verdicts, String), verdicts }));
      expect(stages.at(-1)?.left ?? 40).toBe(verdicts.filter((verdict) => !verdict).length);
    }
  });
});

describe("two nodes", () => {
  test("the largest difference is first", () => {
    expect(differences(matrixOf(), [1, 2], 0, 1)).toEqual([
      { plugin: "Spread", first: 100, second: 60, lead: 40 },
      { plugin: "Fit", first: 60, second: 90, lead: -30 },
    ]);
  });

  test("a rejected node has none", () => {
    expect(differences(matrixOf(), [1, 2], 0, 3)).toEqual([]);
  });
});

describe("a rejected node", () => {
  test("has every rejection once", () => {
    expect(rejectionsOf(matrixOf(), 3)).toEqual([TAINTED, TOO_SMALL]);
    expect(rejectionsOf(matrixOf(), 1)).toEqual([]);
  });

  test("says what was found, and the reasons of plugins that found nothing", () => {
    const taint = { plugin: "TaintToleration", message: "taint a:NoSchedule is not tolerated" };
    const findings = { distinct: [taint], nodes: Uint8Array.of(3), indices: Uint8Array.of(0) };
    expect(findingsOf(matrixOf({ findings }), 3)).toEqual([taint, { plugin: "NodeResourcesFit", message: "Insufficient cpu" }]);
    expect(findingsOf(matrixOf({ findings }), 1)).toEqual([]);
  });

  test("that lacks the smallest share is the closest of those with as many reasons", () => {
    const short = (taken: string) => ({ plugin: "NodeResourcesFit", message: "", amounts: { asked: "4000", taken, limit: "4000" } });
    const findings = { distinct: [short("3000"), short("1000")], nodes: Uint8Array.of(0, 1), indices: Uint8Array.of(0, 1) };
    const rejections = { nodes: new Uint8Array(), verdicts: new Uint8Array() };
    expect(closestNode(matrixOf({ verdicts: Uint8Array.of(2, 2, 0, 0), findings, rejections }))).toBe(1);
  });

  test("with the fewest reasons is the closest", () => {
    const rejections = { nodes: Uint8Array.of(0, 0, 1), verdicts: Uint8Array.of(1, 2, 2) };
    expect(closestNode(matrixOf({ verdicts: Uint8Array.of(1, 2, 0, 0), rejections }))).toBe(1);
    expect(closestNode(matrixOf({ verdicts: Uint8Array.of(0, 0, 0, 0), rejections: { nodes: new Uint8Array(), verdicts: new Uint8Array() } }))).toBe(
      undefined,
    );
  });
});

describe("words", () => {
  const said = (matrix = matrixOf()) => sentence(matrix, rank(matrix, weightsOf(matrix)), weightsOf(matrix));

  test("a selected node with its points, ties and the next one", () => {
    expect(said()).toMatch(/^goes to n[02]: 160 of 300 points, 2 nodes tied, seed 0 decided; n1 is 10 behind \(Spread\)\.$/);
  });

  test("with other weights it would go elsewhere", () => {
    expect(sentence(matrixOf(), rank(matrixOf(), [3, 1]), [3, 1])).toMatch(/^would go to n1: 300 of 400 points;/);
  });

  test("a pod that has a node is where it would go today, or not", () => {
    expect(said(matrixOf({ assigned: "n2" }))).toMatch(/^is on n2; today it goes to n2 too: 160 of/);
    expect(said(matrixOf({ assigned: "n1" }))).toMatch(/^is on n1; today it goes to n2: 160 of/);
  });

  test("the only feasible node", () => {
    expect(said(matrixOf({ scored: new Uint8Array(), feasible: 1 }))).toBe("goes to n2: the only feasible node, so nothing was scored.");
  });

  test("no node, and the one that is being made free", () => {
    const verdict = { code: "VERDICT_CODE_UNSCHEDULABLE", message: "0/4 nodes are available." } as const;
    const matrix = matrixOf({ scored: new Uint8Array(), plugins: [], selected: undefined, verdict, decision: { nominatedNode: "n3" } });
    expect(said(matrix)).toBe("has no node: 0/4 nodes are available. Room is being made for it on n3.");
  });

  test("names lose what they all end in", () => {
    expect(commonSuffix(["a.eu.internal", "b.eu.internal", "c.us.internal"])).toBe(".internal");
    expect(commonSuffix(["a.x", "b.y"])).toBe("");
    expect(commonSuffix([".x", "a.x"])).toBe("");
    expect(commonSuffix(["alone.x"])).toBe("");
  });

  test("a plugin that gives all the same is even", () => {
    expect(matrixOf().plugins.map(isEven)).toEqual([false, false]);
    expect(isEven({ name: "", weight: 1, raw: Uint8Array.of(4, 4), normalized: Uint8Array.of(0, 0) })).toBe(true);
  });

  test("changed weights are a configuration; 0 disables", () => {
    expect(weightsYaml(matrixOf(), [0, 5])).toBe(
      `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: "default-scheduler"
  plugins:
    score:
      enabled:
      - name: Spread
        weight: 5
      disabled:
      - name: Fit
`,
    );
  });
});

describe("configurations", () => {
  const fit = (weight: number) => ({ name: "NodeResourcesFit", weight });
  const document = (...enabled: unknown[]) => ({ mine: { plugins: { score: { enabled } } } });

  test("fields that differ are named, entries of lists by their names", () => {
    expect(configurationDifferences(document(fit(1)), document(fit(5), { name: "Mine" }))).toEqual([
      { path: "mine.plugins.score.enabled[NodeResourcesFit].weight", before: "1", after: "5" },
      { path: "mine.plugins.score.enabled[Mine]", before: undefined, after: '{"name":"Mine"}' },
    ]);
    expect(configurationDifferences({ a: [1] }, { b: 2 })).toEqual([
      { path: "a", before: "[1]", after: undefined },
      { path: "b", before: undefined, after: "2" },
    ]);
  });

  test("another order is a difference", () => {
    expect(configurationDifferences(document(fit(1), { name: "Mine" }), document({ name: "Mine" }, fit(1)))).toEqual([
      { path: "mine.plugins.score.enabled (order)", before: "[NodeResourcesFit] [Mine]", after: "[Mine] [NodeResourcesFit]" },
    ]);
  });

  test("equal ones have none", () => {
    expect(configurationDifferences(document(fit(1)), document(fit(1)))).toEqual([]);
  });
});

describe("the filter of nodes", () => {
  test.each([
    ["zone=a", true],
    ["zone!=a", true],
    ["!gpu", true],
    ["zone in (a, b)", true],
    ["zone in (a", false],
    ["worker-a1", false],
    ["Insufficient cpu", false],
  ])("%s", (words, selector) => {
    expect(isSelector(words)).toBe(selector);
  });

  test("may be a set of names", () => {
    const matrix = matrixOf();
    const rows = rowsOf(matrix, rank(matrix, [1, 2]), { column: "total", descending: true }, "weighted", new Set([matrix.nodes[1]!]));
    expect(rows).toEqual([1]);
  });
});
