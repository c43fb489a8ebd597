/** Which nodes a table shows, and in which order. */

import { findingsOf, type Matrix, rejectionsOf, scoredIndex } from "./matrix";
import type { Ranking } from "./ranking";

export interface Order {
  /** "node", "total", "verdict", or "plugin-" and its number. */
  column: string;
  descending: boolean;
}

/** Whether plugins are compared by what they said, or by what became of it. */
export type Points = "raw" | "normalized" | "weighted";

type Compare = (a: number, b: number) => number;

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Whether words are conditions on labels, as kubectl takes them: app=web, !gpu, zone in (a, b). */
export function isSelector(words: string): boolean {
  return /=|^\s*!|\b(not)?in\s*\([^)]*\)/.test(words);
}

/**
 * Returns the positions of the nodes that are wanted, by words in their name or reason or by a set of names; ties are in the order of
 * the ranking.
 */
export function rowsOf(matrix: Matrix, ranking: Ranking, order: Order, points: Points, wanted: string | ReadonlySet<string>): number[] {
  const matches = typeof wanted === "string" ? matcher(matrix, wanted) : (node: number) => wanted.has(matrix.nodes[node]!);
  const rows = Array.from(ranking.order).filter(matches);
  if (order.column === "total" && order.descending) return rows;
  const compare = comparer(matrix, ranking, order.column, points);
  return rows.sort(order.descending ? (a, b) => compare(b, a) : compare);
}

function comparer(matrix: Matrix, { totals }: Ranking, column: string, points: Points): Compare {
  if (column === "node") return (a, b) => COLLATOR.compare(matrix.nodes[a]!, matrix.nodes[b]!);
  if (column === "verdict") return (a, b) => matrix.verdicts[a]! - matrix.verdicts[b]!;
  if (column === "total") return by((node) => totals[node]!);
  const plugin = matrix.plugins[Number(column.slice("plugin-".length))]!;
  const values = points === "raw" ? plugin.raw : plugin.normalized;
  return by((node) => values[scoredIndex(matrix, node)] ?? Number.NaN);
}

/** What was not scored is less than everything that was. */
function by(value: (node: number) => number): Compare {
  const scored = (node: number) => (Number.isNaN(value(node)) ? -Infinity : value(node));
  return (a, b) => scored(a) - scored(b) || 0;
}

function matcher(matrix: Matrix, words: string): (node: number) => boolean {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return () => true;
  const has = (text: string) => text.toLowerCase().includes(wanted);
  const matching = new Set(matrix.distinct.filter(({ plugin = "", reasons = [] }) => has(`${plugin}: ${reasons.join(", ")}`)));
  const found = new Set(matrix.findings.distinct.filter(({ plugin = "", message = "" }) => has(`${plugin}: ${message}`)));
  return (node) =>
    has(matrix.nodes[node]!) ||
    rejectionsOf(matrix, node).some((verdict) => matching.has(verdict)) ||
    (found.size > 0 && findingsOf(matrix, node).some((finding) => found.has(finding)));
}
