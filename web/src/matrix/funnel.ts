/** How many nodes are left after each plugin. */

import type { Matrix } from "./matrix";

export interface Reason {
  text: string;
  count: number;
  /** Positions of some of the nodes. */
  examples: number[];
}

export interface Stage {
  /** Empty for the server itself. */
  plugin: string;
  rejected: number;
  left: number;
  /** The most frequent one first. */
  reasons: Reason[];
}

const EXAMPLES = 3;

/**
 * Returns a stage for each plugin that was the first to reject a node. The order is that of the decision's rejecting plugins as
 * far as it names them, and then that in which the nodes' verdicts name them.
 */
export function funnel(matrix: Matrix): Stage[] {
  const reasons = reasonsByPlugin(matrix);
  const known = matrix.decision?.rejectingPlugins ?? [];
  const plugins = [...known.filter((plugin) => reasons.has(plugin)), ...reasons.keys()];
  let left = matrix.nodes.length;
  return [...new Set(plugins)].map((plugin) => {
    const found = [...reasons.get(plugin)!.values()].sort((a, b) => b.count - a.count);
    const rejected = found.reduce((sum, reason) => sum + reason.count, 0);
    left -= rejected;
    return { plugin, rejected, left, reasons: found };
  });
}

function reasonsByPlugin(matrix: Matrix): Map<string, Map<string, Reason>> {
  const plugins = new Map<string, Map<string, Reason>>();
  matrix.verdicts.forEach((verdict: number, node: number) => {
    if (!verdict) return;
    const { plugin = "", reasons = [] } = matrix.distinct[verdict]!;
    const text = reasons.join(", ");
    const found = plugins.get(plugin) ?? new Map<string, Reason>();
    plugins.set(plugin, found);
    const reason = found.get(text) ?? { text, count: 0, examples: [] };
    found.set(text, reason);
    reason.count++;
    if (reason.examples.length < EXAMPLES) reason.examples.push(node);
  });
  return plugins;
}
