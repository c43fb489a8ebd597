/** A decision in one sentence. */

import { amount } from "./amounts";
import { differences } from "./differences";
import { type Matrix, shortName } from "./matrix";
import type { Ranking } from "./ranking";

/** Returns where the pod goes and by how much, or why it goes nowhere; with other weights than those in force, where it would go. */
export function sentence(matrix: Matrix, ranking: Ranking, weights: readonly number[]): string {
  const { assigned } = matrix;
  const today = ranking.selected === undefined ? nowhere(matrix) : somewhere(matrix, ranking, ranking.selected, weights);
  return assigned ? `is on ${assigned}; today it ${today}` : today;
}

function somewhere(matrix: Matrix, ranking: Ranking, selected: number, weights: readonly number[]): string {
  const changed = weights.some((weight, index) => weight !== matrix.plugins[index]!.weight);
  const where = `${changed ? "would go" : "goes"} to ${shortName(matrix, selected)}${matrix.nodes[selected] === matrix.assigned ? " too" : ""}`;
  if (!matrix.plugins.length || !matrix.scored.length) {
    return `${where}: ${matrix.feasible === 1 ? "the only feasible node, so nothing was scored" : "no plugin scores"}.`;
  }
  const most = 100 * weights.reduce((sum, weight) => sum + weight, 0);
  const facts = [`${amount(ranking.totals[selected]!)} of ${amount(most)} points`];
  if (ranking.ties.length > 1) facts.push(`${amount(ranking.ties.length)} nodes tied, seed ${matrix.seed} decided`);
  return `${where}: ${facts.join(", ")}${second(matrix, ranking, weights)}.`;
}

function second(matrix: Matrix, { selected, runnerUp, totals }: Ranking, weights: readonly number[]): string {
  if (selected === undefined || runnerUp === undefined) return "";
  const lead = totals[selected]! - totals[runnerUp]!;
  const cause = differences(matrix, weights, selected, runnerUp).find((difference) => difference.lead > 0);
  return `; ${shortName(matrix, runnerUp)} is ${amount(lead)} behind${cause ? ` (${cause.plugin})` : ""}`;
}

function nowhere(matrix: Matrix): string {
  const nominated = matrix.decision?.nominatedNode;
  const waits = nominated ? ` Room is being made for it on ${nominated}.` : "";
  return `has no node: ${matrix.verdict.message || (matrix.verdict.reasons ?? []).join(", ") || "no node is feasible"}${waits}`;
}
