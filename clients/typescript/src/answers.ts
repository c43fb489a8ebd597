import { at, present } from "./errors.js";
import type { ExplainResponse, FilterResponse, ScoreResponse } from "./gen/mooring/v1/scheduling_service_pb.js";
import type { NodeVerdicts, Verdict } from "./gen/mooring/v1/verdicts_pb.js";

/** The verdict on each node, in the order in which they were asked about. */
export interface Filtered {
  /** SUCCESS if a node is feasible. */
  readonly verdict: Verdict;
  readonly nodes: ReadonlyMap<string, Verdict>;
  /** The whole answer: warnings, the state that it is about, and more. */
  readonly response: FilterResponse;
}

/** The total score of each node that the server knows. */
export interface Scored {
  /** 100 times this is the highest total possible. */
  readonly weightSum: bigint;
  readonly nodes: ReadonlyMap<string, bigint>;
  readonly response: ScoreResponse;
}

/** What one plugin gave a node. */
export interface PluginScore {
  readonly raw: bigint;
  /** 0 to 100. */
  readonly normalized: bigint;
  /** That times the plugin's weight. */
  readonly weighted: bigint;
}

/** A node in an explanation. */
export interface ExplainedNode {
  readonly verdict: Verdict;
  /** Undefined if it was not scored. */
  readonly total: bigint | undefined;
  /** By plugin. */
  readonly scores: ReadonlyMap<string, PluginScore>;
}

/** The whole cycle for one pod. */
export interface Explanation {
  readonly verdict: Verdict;
  /** The node that would be selected. */
  readonly node: string | undefined;
  readonly nodes: ReadonlyMap<string, ExplainedNode>;
  readonly response: ExplainResponse;
}

export function filteredIn(response: FilterResponse, names: readonly string[]): Filtered {
  const verdicts = spread(response.verdicts, names.length);
  return { verdict: present(response.verdict), nodes: new Map(names.map((name, i) => [name, at(verdicts, i)])), response };
}

export function scoredIn(response: ScoreResponse, names: readonly string[]): Scored {
  const known = response.verdicts?.nodeVerdicts ?? [];
  const nodes = new Map<string, bigint>();
  for (const [i, name] of names.entries()) {
    if (!known[i]) nodes.set(name, at(response.totals, i));
  }
  return { weightSum: response.weightSum, nodes, response };
}

export function explanationIn(response: ExplainResponse, names: readonly string[]): Explanation {
  const scored = new Map(response.scoredPositions.map((position, column) => [position, column]));
  const verdicts = spread(response.verdicts, names.length);
  const explained = (position: number): ExplainedNode => {
    const column = scored.get(position);
    const scores = new Map<string, PluginScore>();
    if (column !== undefined) {
      for (const { plugin, raw, normalized, weighted } of response.plugins) {
        scores.set(plugin, { raw: at(raw, column), normalized: at(normalized, column), weighted: at(weighted, column) });
      }
    }
    return { verdict: at(verdicts, position), total: column === undefined ? undefined : at(response.totals, column), scores };
  };
  return {
    verdict: present(response.verdict),
    node: response.selectedPosition === undefined ? undefined : at(names, response.selectedPosition),
    nodes: new Map(names.map((name, position) => [name, explained(position)])),
    response,
  };
}

/** One verdict a node. Without a column all nodes have the first one, SUCCESS. */
function spread(verdicts: NodeVerdicts | undefined, count: number): Verdict[] {
  const { distinct, nodeVerdicts } = present(verdicts);
  return Array.from({ length: count }, (_, i) => at(distinct, nodeVerdicts[i] ?? 0));
}
