/** Lines of figures over time. */

import type { TimeSpanJson } from "../contract/mooring/v1/decision_service_pb";

export interface Series {
  name: string;
  /** One for each span; NaN where there is none. */
  values: number[];
}

/** How many causes have a series of their own. */
const CAUSES = 4;

/** Returns the pending pods by cause, those with the most pods over time first; the others are one series. */
export function pendingByCause(spans: readonly TimeSpanJson[]): Series[] {
  const byCause = new Map<string, number[]>();
  spans.forEach(({ causes = [] }, at) => {
    for (const { plugin = "", reason = "", podCount = 0 } of causes) {
      const name = [plugin, reason].filter(Boolean).join(": ") || "no reason";
      const counts = byCause.get(name) ?? spans.map(() => 0);
      byCause.set(name, counts);
      counts[at]! += podCount;
    }
  });
  const named = [...byCause].map(([name, values]) => ({ name, values })).sort((a, b) => total(b.values) - total(a.values)).slice(0, CAUSES);
  const others = spans.map(({ pendingCount = 0 }, at) => pendingCount - total(named.map(({ values }) => values[at]!)));
  return others.some((count) => count > 0) ? [...named, { name: "other causes", values: others }] : named;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns seconds of a protobuf duration such as "0.00085s"; NaN without one. */
export function secondsOf(duration: string | undefined): number {
  return duration === undefined ? Number.NaN : parseFloat(duration);
}

/** Returns the series on top of each other: of each the lower and the upper edge. */
export function stacked(series: readonly Series[]): { lower: number[]; upper: number[] }[] {
  let below = series[0]?.values.map(() => 0) ?? [];
  return series.map(({ values }) => {
    const lower = below;
    below = values.map((value, at) => value + lower[at]!);
    return { lower, upper: below };
  });
}

/** Returns the largest of all values, at least the smallest positive number that can be told. */
export function most(values: readonly number[]): number {
  return Math.max(Number.MIN_VALUE, ...values.filter((value) => !Number.isNaN(value)));
}
