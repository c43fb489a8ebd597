import type { MessageInitShape } from "@bufbuild/protobuf";

import type { KubernetesObjectSchema, PodSourceSchema } from "./gen/mooring/v1/objects_pb.js";
import type { CommitOutcome, ScheduleResponse } from "./gen/mooring/v1/scheduling_service_pb.js";
import type { Verdict } from "./gen/mooring/v1/verdicts_pb.js";
import { at } from "./errors.js";
import { namesIn } from "./nodes.js";

/** An object of the Kubernetes API, as its JSON has it. */
export interface Manifest {
  readonly metadata: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
  readonly [field: string]: unknown;
}

/** A pod that the server knows. Calls that change something need its UID. */
export interface Reference {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** A pod that is sent along, or one that the server knows. */
export type Pod = Manifest | Reference;

/** Pods that are alike. */
export interface Pods {
  /** One of them, sent and decoded once for all. */
  readonly template: Pod;
  /** Their UIDs, all distinct; default one pod, with the UID of the template. */
  readonly uids?: readonly string[];
  /** Their names, one for each UID; default that of the template. All groups of a batch have names, or none. */
  readonly names?: readonly string[];
}

/** The answer about one pod. */
export interface Placement {
  readonly uid: string;
  /** The selected node. Without success it was selected, too, and the commit failed. */
  readonly node: string | undefined;
  /** SUCCESS for a pod that has its node, PENDING for one that got no turn in time and may be sent again. */
  readonly verdict: Verdict;
  /** The node's total score; 0n for the only feasible one, which is not scored. */
  readonly total: bigint;
  /** How many nodes had that total. */
  readonly tieCount: number;
  readonly evaluatedCount: number;
  readonly feasibleCount: number;
  /** How the commit ended; undefined in a dry run. */
  readonly outcome: CommitOutcome | undefined;
}

export function objectOf(manifest: Manifest): MessageInitShape<typeof KubernetesObjectSchema> {
  return { encoding: { case: "json", value: Buffer.from(JSON.stringify(manifest)) } };
}

export function sourceOf(pod: Pod): MessageInitShape<typeof PodSourceSchema> {
  return isManifest(pod)
    ? { source: { case: "object", value: objectOf(pod) } }
    : { source: { case: "reference", value: { ...pod } } };
}

/** The templates and columns of a batch, and the UID of each pod. */
export function batchOf(groups: readonly Pods[]) {
  const batch = groups.map(({ template, uids = [idOf(template).uid ?? ""], names = [] }) => ({ template, uids, names }));
  const named = batch.some(({ names }) => names.length > 0);
  for (const [number, { uids, names }] of batch.entries()) {
    if (names.length !== (named ? uids.length : 0)) {
      throw new RangeError(`group ${number} has ${names.length} names for ${uids.length} pods`);
    }
  }
  const uids = batch.flatMap((group) => group.uids);
  const pods = {
    templateIndices: batch.flatMap((group, number) => group.uids.map(() => number)),
    uids: uids.some((uid) => uid !== "") ? uids : [],
    names: batch.flatMap((group) => group.names),
  };
  return { templates: batch.map(({ template }) => ({ pod: sourceOf(template) })), pods, uids };
}

/** One result a pod, in the order of the batch. */
export function placementsIn(answer: ScheduleResponse, uids: readonly string[]): Placement[] {
  const nodes = namesIn(answer.nodes);
  return uids.map((uid, i) => ({
    uid,
    node: nodes[i] || undefined,
    verdict: at(answer.verdicts, at(answer.podVerdicts, i)),
    total: at(answer.totals, i),
    tieCount: answer.tieCounts[i] ?? 0,
    evaluatedCount: answer.evaluatedCounts[i] ?? 0,
    feasibleCount: answer.feasibleCounts[i] ?? 0,
    outcome: answer.outcomes[i],
  }));
}

function isManifest(pod: Pod): pod is Manifest {
  return "metadata" in pod;
}

function idOf(pod: Pod): Partial<Reference> {
  return isManifest(pod) ? pod.metadata : pod;
}
