/** The contract's values in the words of the page. */

import type { DecisionJson, NodeRejectionsJson } from "../contract/mooring/v1/decision_service_pb";
import type { PodReferenceJson } from "../contract/mooring/v1/objects_pb";

/** Returns "in flight" for QUEUE_PLACE_IN_FLIGHT, given the prefix QUEUE_PLACE_. */
export function word(value: string | undefined, prefix: string): string {
  return (value ?? "").replace(prefix, "").replaceAll("_", " ").toLowerCase();
}

/** Returns "PreFilter" for EXTENSION_POINT_PRE_FILTER. */
export function pointName(value: string): string {
  return word(value, "EXTENSION_POINT_").replace(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function podName(pod: PodReferenceJson | undefined): string {
  return `${pod?.namespace ?? ""}/${pod?.name ?? ""}`;
}

/** Returns "NodeAffinity: node(s) didn't match ...". */
export function rejection(found: NodeRejectionsJson | undefined): string {
  return found?.reason ? `${found.plugin ? `${found.plugin}: ` : ""}${found.reason}` : "";
}

/** Returns how a decision ended, with its mark: never by colour alone. */
export function outcome(decision: DecisionJson): { mark: string; text: string; tone: string } {
  if (decision.result === "DECISION_RESULT_SCHEDULED") {
    return { mark: "✓", text: decision.node || "feasible", tone: "good" };
  }
  const text = rejection(decision.dominant) || decision.verdict?.message || (decision.verdict?.reasons ?? []).join(", ");
  if (decision.result === "DECISION_RESULT_UNSCHEDULABLE") return { mark: "✕", text, tone: "bad" };
  return { mark: "⚠", text: text || word(decision.result, "DECISION_RESULT_"), tone: "warn" };
}

/** Returns the argument as a shell takes it. */
export function quoted(argument: string): string {
  return /^[\w./:=@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
