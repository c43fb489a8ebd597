/** The nodes of a cluster as rows: what each offers, what its pods take, and what keeps pods away. */

import type { ListNodesResponseJson } from "../contract/mooring/v1/cluster_service_pb";
import { parseQuantity } from "./amounts";

export interface NodeRow {
  name: string;
  zone: string;
  /** Such as "gpu=true:NoSchedule, b:NoExecute"; empty without taints. */
  taints: string;
  cordoned: boolean;
  /** What it offers and what its pods request, in the order of the resources. */
  offers: number[];
  takes: number[];
}

export interface NodeRows {
  resources: string[];
  rows: NodeRow[];
}

/** Returns the rows of an answer with usage. */
export function nodeRows({ nodes, usage }: ListNodesResponseJson): NodeRows {
  const { resources = [], zones = [], zonePositions = [], taints = [], taintPositions = [], cordonedPositions = [] } = usage ?? {};
  const numbers = resources.map(({ allocatable = [], requested = [] }) => [allocatable.map(Number), requested.map(Number)] as const);
  const cordoned = new Set(cordonedPositions);
  const rows = (nodes?.names?.names ?? []).map((name, at) => ({
    name,
    zone: zones[zonePositions[at] ?? 0] ?? "",
    taints: taints[taintPositions[at] ?? 0] ?? "",
    cordoned: cordoned.has(at),
    offers: numbers.map(([offers]) => offers[at] ?? 0),
    takes: numbers.map(([, takes]) => takes[at] ?? 0),
  }));
  return { resources: resources.map(({ name = "" }) => name), rows };
}

/** Returns the resources that a table shows: CPU, memory, the number of pods, and what some nodes offer besides, such as GPUs. */
export function shownResources(resources: readonly string[]): string[] {
  const first = ["cpu", "memory", "pods"].filter((name) => resources.includes(name));
  return [...first, ...resources.filter((name) => name.includes("/")).slice(0, 3)];
}

/** What people wrote into the filter: words, and the least room, such as cpu>2 and memory>4Gi. */
export interface NodeFilter {
  words: string[];
  room: { resource: string; least: number }[];
}

const ROOM = /^([a-z][\w./-]*)>=?(\d[\w.]*)$/;

/** Returns what a filter asks for. */
export function nodeFilter(text: string): NodeFilter {
  const filter: NodeFilter = { words: [], room: [] };
  for (const term of text.trim().split(/\s+/).filter(Boolean)) {
    const [, resource = "", amount = ""] = ROOM.exec(term) ?? [];
    const least = resource ? parseQuantity(resource, amount) : Number.NaN;
    if (Number.isNaN(least)) filter.words.push(term.toLowerCase());
    else filter.room.push({ resource, least });
  }
  return filter;
}

/** Returns whether what is typed is about room or words alone, and not about labels. */
export function isAboutRoom(text: string): boolean {
  return text.split(/\s+/).some((term) => ROOM.test(term));
}

/** Returns the nodes that have all words in their name, zone or taints, and that much room. */
export function filterNodes({ resources, rows }: NodeRows, { words, room }: NodeFilter): NodeRow[] {
  // A resource may be named by its last part: gpu for nvidia.com/gpu.
  const needs = room.map(({ resource, least }) => ({ least, at: resources.findIndex((name) => name === resource || name.endsWith(`/${resource}`)) }));
  return rows.filter((row) => {
    if (!needs.every(({ at, least }) => at >= 0 && row.offers[at]! - row.takes[at]! >= least)) return false;
    if (!words.length) return true;
    const text = `${row.name} ${row.zone} ${row.taints} ${row.cordoned ? "cordoned" : ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Returns which share of a resource is taken, 0 to 1; more where more is taken than there is, -1 where a node has none of it. */
export function taken(row: NodeRow, resource: number): number {
  const offers = row.offers[resource] ?? 0;
  return offers ? row.takes[resource]! / offers : -1;
}
