import { describe, expect, test } from "vitest";

import { eventWords } from "../src/matrix/events";
import { filterNodes, isAboutRoom, nodeFilter, nodeRows, shownResources, taken } from "../src/matrix/nodes";
import { causes } from "../src/views/reasons";

const ANSWER = {
  nodes: { names: { names: ["a", "b", "c"] } },
  usage: {
    resources: [
      { name: "cpu", allocatable: ["4000", "8000", "0"], requested: ["1000", "8000", "0"] },
      { name: "memory", allocatable: ["8589934592", "8589934592", "0"], requested: ["0", "4294967296", "0"] },
      { name: "ephemeral-storage", allocatable: ["1", "1", "1"], requested: ["0", "0", "0"] },
      { name: "example.com/gpu", allocatable: ["0", "2", "0"], requested: ["0", "1", "0"] },
    ],
    zones: ["", "north"],
    zonePositions: [1, 0, 1],
    taints: ["", "gpu:NoSchedule"],
    taintPositions: [0, 1, 0],
    cordonedPositions: [2],
  },
};

describe("nodes", () => {
  const nodes = nodeRows(ANSWER);

  test("columns become rows", () => {
    expect(nodes.rows[1]).toEqual({
      name: "b",
      zone: "",
      taints: "gpu:NoSchedule",
      cordoned: false,
      offers: [8000, 8589934592, 1, 2],
      takes: [8000, 4294967296, 0, 1],
    });
    expect(nodes.rows.map(({ cordoned }) => cordoned)).toEqual([false, false, true]);
    expect(shownResources(nodes.resources)).toEqual(["cpu", "memory", "example.com/gpu"]);
  });

  test.each([
    ["", ["a", "b", "c"]],
    ["north", ["a", "c"]],
    ["cordoned", ["c"]],
    ["cpu>2", ["a"]],
    ["cpu>=3 north", ["a"]],
    ["memory>4Gi", ["a", "b"]],
    ["gpu>1", ["b"]],
    ["example.com/gpu>2", []],
    ["fpga>1", []],
  ])("filtered by %s", (text, names) => {
    expect(filterNodes(nodes, nodeFilter(text)).map(({ name }) => name)).toEqual(names);
  });

  test.each([
    ["cpu>2", true],
    ["zone=a", false],
    ["zone in (a, b)", false],
  ])("%s is about room: %s", (text, room) => {
    expect(isAboutRoom(text)).toBe(room);
  });

  test("a node without a resource is before one that has it free", () => {
    expect(nodes.rows.map((row) => taken(row, 0))).toEqual([0.25, 1, -1]);
  });
});

test.each([
  [["Node/Add", "Node/UpdateNodeLabel", "AssignedPod/Delete"], "a node is added or gets other labels; a pod on a node goes"],
  [["storage.k8s.io/CSINode/Update"], "a CSINode changes"],
  [["Node/*"], "a node changes"],
  [[], ""],
])("%s in words", (events, words) => {
  expect(eventWords(events)).toBe(words);
});

test("groups with one reason are one cause, that with the most pods first", () => {
  const group = (controllerName: string, podCount: number, reason: string) => ({ controllerName, podCount, reason: { plugin: "P", reason } });
  const found = causes([group("a", 2, "x"), group("b", 3, "y"), group("c", 2, "x")]);
  expect(found.map(({ podCount, groups }) => [podCount, groups.map((one) => one.controllerName)])).toEqual([
    [4, ["a", "c"]],
    [3, ["b"]],
  ]);
});
