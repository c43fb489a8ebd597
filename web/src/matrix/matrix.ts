/** The nodes × plugins matrix of one decision, and the questions that the page asks it. */

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import type { FindingJson } from "../contract/mooring/v1/findings_pb";
import type { PodReferenceJson, ProvenanceJson } from "../contract/mooring/v1/objects_pb";
import type { VerdictJson } from "../contract/mooring/v1/verdicts_pb";
import type { Numbers } from "./columns";

export interface Plugin {
  name: string;
  /** The weight in force when the decision was made. */
  weight: number;
  /** One per scored node, in the order of `scored`. */
  raw: Numbers;
  normalized: Numbers;
}

export interface Resource {
  name: string;
  /** CPU in thousandths, the rest in units. */
  requested: number;
  /** One per node: what it has left. */
  free: Numbers;
}

export interface PreemptionFinding extends FindingJson {
  /** Of how many nodes that is found; 0 = whatever the node. */
  nodes: number;
}

/** Kept since it was made, made again as of then, or made now. */
export type Made = "kept" | "again" | "now";

export interface Matrix {
  made: Made;
  /** The journal's record; none where it was made now. */
  decision: DecisionJson | undefined;
  /** In what the decision that was made again differs from the journal's. */
  differences: string[];
  pod: PodReferenceJson;
  /** The node that the pod is on already; empty if it has none. */
  assigned: string;
  provenance: ProvenanceJson;
  verdict: VerdictJson;
  seed: bigint;
  nodes: string[];
  /** What all their names end in, such as ".eu-west-1.compute.internal"; may be empty. */
  suffix: string;
  /** The distinct verdicts. The first one is success. */
  distinct: VerdictJson[];
  /** One per node: an index into `distinct`. */
  verdicts: Numbers;
  /** Positions of nodes that were scored, ascending. */
  scored: Numbers;
  plugins: Plugin[];
  /** The position of the selected node. */
  selected: number | undefined;
  ties: Numbers;
  /** Every rejection, also those after the first one of a node; empty where only the first is known. */
  rejections: { nodes: Numbers; verdicts: Numbers };
  /** What plugins found about nodes, by position, ascending, and index into the distinct ones. */
  findings: { distinct: FindingJson[]; nodes: Numbers; indices: Numbers };
  /** What they found about the pod, whatever the node. */
  podFindings: FindingJson[];
  /** Why preemption does not help. */
  preemptionFindings: PreemptionFinding[];
  resources: Resource[];
  warnings: string[];
  evaluated: number;
  feasible: number;
}

/** Returns the node's name without what all names end in. */
export function shortName(matrix: Matrix, node: number): string {
  const name = matrix.nodes[node]!;
  return name.slice(0, name.length - matrix.suffix.length);
}

/** Returns whether a plugin gives all scored nodes the same, and so decides nothing. */
export function isEven({ raw, normalized }: Plugin): boolean {
  return raw.every((score) => score === raw[0]) && normalized.every((score) => score === normalized[0]);
}

/** Returns every verdict that rejects the node, the first one first. */
export function rejectionsOf(matrix: Matrix, node: number): VerdictJson[] {
  const first = matrix.verdicts[node] ?? 0;
  const found = new Set<number>(first ? [first] : []);
  const { nodes, verdicts } = matrix.rejections;
  for (let index = lowerBound(nodes, node); nodes[index] === node; index++) found.add(verdicts[index]!);
  return Array.from(found, (index) => matrix.distinct[index]!);
}

/** Returns the node's place among the scored ones, or -1. */
export function scoredIndex(matrix: Matrix, node: number): number {
  const index = lowerBound(matrix.scored, node);
  return matrix.scored[index] === node ? index : -1;
}

/**
 * Returns what is in the way of the pod on a node: what the plugins found. A plugin that found nothing says its reasons instead.
 */
export function findingsOf(matrix: Matrix, node: number): FindingJson[] {
  const { distinct, nodes, indices } = matrix.findings;
  const found: FindingJson[] = [];
  for (let index = lowerBound(nodes, node); nodes[index] === node; index++) found.push(distinct[indices[index]!]!);
  const rejections = rejectionsOf(matrix, node).filter(({ plugin = "" }) => !found.some((one) => one.plugin === plugin));
  return [...found, ...rejections.flatMap(({ plugin = "", reasons = [""] }) => reasons.map((message) => ({ plugin, message })))];
}

/** Returns the rejected node with the fewest things in the way; of those, the one that lacks the smallest share of what is asked. */
export function closestNode(matrix: Matrix): number | undefined {
  let best: number | undefined;
  let [fewest, least] = [Infinity, Infinity];
  for (let node = 0; node < matrix.nodes.length; node++) {
    if (!matrix.verdicts[node]) continue;
    const found = findingsOf(matrix, node);
    const lack = found.length <= fewest ? found.reduce((sum, one) => sum + missingShare(one), 0) : Infinity;
    if (found.length < fewest || (found.length === fewest && lack < least)) [best, fewest, least] = [node, found.length, lack];
  }
  return best;
}

/** Returns the part of what is asked for that is missing; 0 if nothing is counted. */
function missingShare({ amounts }: FindingJson): number {
  const [asked, taken, limit] = [Number(amounts?.asked ?? 0), Number(amounts?.taken ?? 0), Number(amounts?.limit ?? 0)];
  return asked ? (asked + taken - limit) / asked : 0;
}

/** Returns where the first value that is not less than `wanted` stands in ascending `values`. */
function lowerBound(values: Numbers, wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
