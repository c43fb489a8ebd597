import type { Plugin, Values } from "mooring-client/plugin-host";

export const OFFERED = "allocatable[memory]";
export const REQUESTED = "requested[memory]";

/** An empty node has 100 points, a full one none. */
export function score(_pod: Values, node: Values): number {
  const offered = node.number(OFFERED);
  return offered && Math.floor((100 * Math.max(offered - node.number(REQUESTED), 0)) / offered);
}

/** Prefers the nodes with the largest free part of their memory. */
export const plugin: Plugin = {
  name: "$name",
  nodeColumns: [OFFERED, REQUESTED],
  rule: () => ({ score }),
};
