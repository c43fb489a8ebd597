/** What sets two nodes apart. */

import { type Matrix, scoredIndex } from "./matrix";

export interface Difference {
  plugin: string;
  first: number;
  second: number;
  /** Points that the first node has more. */
  lead: number;
}

/** Returns the weighted scores of two scored nodes by plugin, the largest difference first; none if one was not scored. */
export function differences(matrix: Matrix, weights: readonly number[], first: number, second: number): Difference[] {
  const one = scoredIndex(matrix, first);
  const other = scoredIndex(matrix, second);
  if (one < 0 || other < 0) return [];
  return matrix.plugins
    .map(({ name, normalized }, index) => {
      const weight = weights[index]!;
      const [left, right] = [normalized[one]! * weight, normalized[other]! * weight];
      return { plugin: name, first: left, second: right, lead: left - right };
    })
    .sort((a, b) => Math.abs(b.lead) - Math.abs(a.lead));
}
