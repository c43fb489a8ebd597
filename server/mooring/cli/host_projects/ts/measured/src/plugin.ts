import { readFile } from "node:fs/promises";

import { Normalizer, type Plugin, type Values } from "mooring-client/plugin-host";

const LOAD = "$name";
export const MEASURED = `measured[$${LOAD}]`;
const FILE = "load.txt";

export function score(_pod: Values, node: Values): number {
  return node.number(MEASURED);
}

/** The loads by node; each line has a node and its load. */
export function parsed(text: string): Record<string, number> {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/));
  return Object.fromEntries(lines.filter((words) => words.length === 2).map(([node, load]) => [node, Number(load)]));
}

/** Prefers the nodes with the lowest load, which it reads in the background. */
export const plugin: Plugin = {
  name: "$name",
  nodeColumns: [MEASURED],
  normalizer: Normalizer.BY_MAX_REVERSED,
  measurements: [{ name: LOAD, unmeasuredAsHighest: true }],
  rule: () => ({ score, measure: async () => parsed(await readFile(FILE, "utf8")) }),
};
