/** Ranks the nodes of a matrix with any weights. */

import type { Matrix } from "./matrix";
import { choose } from "./tie_break";

export const REJECTED = Number.NaN;

export interface Ranking {
  /** One per node; `REJECTED` where it was not scored. */
  totals: Float64Array;
  /** All positions of nodes: the selected one, then the highest total first, equal ones and rejected ones in the order of nodes. */
  order: Uint32Array;
  /** Positions of those with the highest total, ascending. */
  ties: number[];
  /** The position of the node that would be selected. */
  selected: number | undefined;
  /** The position of the best node that is not among the ties. */
  runnerUp: number | undefined;
}

/** Returns the ranking with these weights, one per plugin of the matrix, 0 or more. */
export function rank(matrix: Matrix, weights: readonly number[]): Ranking {
  const totals = new Float64Array(matrix.nodes.length).fill(REJECTED);
  const sums = scoredTotals(matrix, weights);
  matrix.scored.forEach((node: number, index: number) => (totals[node] = sums[index]!));
  const byTotal = Uint32Array.from(matrix.scored).sort((a, b) => totals[b]! - totals[a]! || a - b);
  const best = totals[byTotal[0] ?? -1];
  let count = 0;
  while (count < byTotal.length && totals[byTotal[count]!] === best) count++;
  const ties = Array.from(byTotal.subarray(0, count));
  const selected = selectedOf(matrix, ties);
  byTotal.set([...ties].sort((a, b) => Number(b === selected) - Number(a === selected)));
  return { totals, order: withRejected(byTotal, totals), ties, selected, runnerUp: byTotal[count] };
}

/** Returns the weights that were in force. */
export function weightsOf(matrix: Matrix): number[] {
  return matrix.plugins.map((plugin) => plugin.weight);
}

function scoredTotals(matrix: Matrix, weights: readonly number[]): Float64Array {
  const sums = new Float64Array(matrix.scored.length);
  matrix.plugins.forEach(({ normalized }, plugin) => {
    const weight = weights[plugin]!;
    for (let index = 0; index < sums.length; index++) sums[index]! += normalized[index]! * weight;
  });
  return sums;
}

/** A single feasible node is selected without scores, and so is a node that the recorded decision names. */
function selectedOf(matrix: Matrix, ties: number[]): number | undefined {
  if (!ties.length) return matrix.selected;
  return ties[choose(matrix.seed, matrix.pod.uid ?? "", ties.length)];
}

function withRejected(byTotal: Uint32Array, totals: Float64Array): Uint32Array {
  const order = new Uint32Array(totals.length);
  order.set(byTotal);
  let next = byTotal.length;
  for (let node = 0; node < totals.length; node++) if (Number.isNaN(totals[node])) order[next++] = node;
  return order;
}
