import type { Plugin, Rejection, Values } from "mooring-client/plugin-host";

export const APP = "metadata.labels[app]";
export const IN_RACK = "counted[app by example.com/rack]";
export const MOST = 2;

/** Pods without the label are not limited. */
export function filter(pod: Values, node: Values): Rejection | undefined {
  if (!pod.has(APP) || node.number(IN_RACK) < MOST) return undefined;
  return { reason: "node(s) were in a rack with enough pods of the app" };
}

/** Limits the pods of one app in each rack. */
export const plugin: Plugin = {
  name: "$name",
  podFields: [APP],
  nodeColumns: [IN_RACK],
  rule: () => ({ filter }),
};
