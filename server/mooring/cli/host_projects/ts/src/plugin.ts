import type { Plugin, Rejection, Values } from "mooring-client/plugin-host";

export const WANTED = "metadata.annotations[example.com/rack]";
export const RACK = "metadata.labels[example.com/rack]";
export const MAINTENANCE = "metadata.labels[example.com/maintenance]";

export function filter(_pod: Values, node: Values): Rejection | undefined {
  return node.has(MAINTENANCE) ? { reason: "node(s) were in maintenance", unresolvable: true } : undefined;
}

export function score(pod: Values, node: Values): number {
  return pod.has(WANTED) && pod.text(WANTED) === node.text(RACK) ? 100 : 0;
}

/** Rejects nodes in maintenance, and prefers the rack that the pod asks for. */
export const plugin: Plugin = {
  name: "$name",
  podFields: [WANTED],
  nodeColumns: [RACK, MAINTENANCE],
  rule: () => ({ filter, score }),
};
