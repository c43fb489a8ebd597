import type { Plugin, Rejection, Values } from "mooring-client/plugin-host";

export const WANTED = "metadata.annotations[example.com/tier]";
export const TIER = "metadata.labels[example.com/tier]";

export function filter(pod: Values, node: Values): Rejection | undefined {
  if (!pod.has(WANTED) || pod.text(WANTED) === node.text(TIER)) return undefined;
  return { reason: "node(s) didn't have the tier that the pod asks for", unresolvable: true };
}

/** Keeps a pod to the nodes of the tier that it asks for. */
export const plugin: Plugin = {
  name: "$name",
  podFields: [WANTED],
  nodeColumns: [TIER],
  rule: () => ({ filter }),
};
