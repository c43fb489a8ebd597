/** What it would take: the one next step for a reason, and the figures behind it. */

import { quantity } from "./amounts";
import { type Matrix, rejectionsOf } from "./matrix";

/** Steps by plugin, for the reasons in which a plugin has more than one. The first pattern that a reason matches counts. */
const STEPS: Record<string, readonly (readonly [RegExp, string])[]> = {
  NodeResourcesFit: [
    [/Too many pods/, "Nodes are at their limit of pods: add a node, or raise maxPods of the kubelet."],
    [/Insufficient (\S+)/, "Add a node with enough $1, lower the request, or see what holds $1 now."],
  ],
  NodeAffinity: [[/./, "Label a node as the pod's nodeSelector or node affinity asks, or correct the pod."]],
  TaintToleration: [
    [/not-ready|unreachable|disk-pressure|memory-pressure/, "Repair the nodes: their taint says that they are not healthy."],
    [/./, "Add the toleration to the pod, or remove the taint from a node."],
  ],
  NodeUnschedulable: [[/./, "Uncordon a node: kubectl uncordon NODE."]],
  NodePorts: [[/./, "The host port is taken: drop hostPort, or add a node where it is free."]],
  NodeName: [[/./, "spec.nodeName names another node: remove it from the pod."]],
  InterPodAffinity: [
    [/existing pods/, "A running pod's anti-affinity keeps this pod away: check pods with anti-affinity to its labels."],
    [/anti-affinity/, "More replicas than places: add a node or zone, or make the anti-affinity preferred."],
    [/./, "No pod matches the affinity on a node with room: check its labels and topologyKey."],
  ],
  PodTopologySpread: [
    [/missing/, "Label the nodes with the constraint's topologyKey."],
    [/./, "Add room in the emptiest zone, raise maxSkew, or use whenUnsatisfiable: ScheduleAnyway."],
  ],
  VolumeBinding: [
    [/unbound immediate/, "Bind the PersistentVolumeClaim, or use a StorageClass with WaitForFirstConsumer."],
    [/not found|non-existent/, "Create the PersistentVolumeClaim or volume that the pod names."],
    [/./, "Add a node where the claim's volume can be: its zone or host is fixed by the volume."],
  ],
  VolumeZone: [[/./, "Add a node in the volume's zone."]],
  NodeVolumeLimits: [[/./, "Nodes have as many volumes attached as they take: add a node."]],
  VolumeRestrictions: [[/./, "Another pod uses the volume exclusively: wait for it, or use ReadWriteMany."]],
  DynamicResources: [[/./, "No free device satisfies the claim: add devices, or relax the claim's selectors."]],
  SchedulingGates: [[/./, "Whoever set the pod's schedulingGates has to remove them."]],
  DefaultPreemption: [[/./, "Raise the pod's priority, or make room by hand."]],
};

const GENERAL = "See the plugin's reason; what it needs is in its documentation.";

/** Returns the next step for a plugin's reason. */
export function nextStep(plugin: string | undefined, reason: string | undefined): string {
  for (const [pattern, step] of STEPS[plugin ?? ""] ?? []) {
    const found = pattern.exec(reason ?? "");
    if (found) return step.replaceAll("$1", found[1] ?? "");
  }
  return GENERAL;
}

export interface Requirement {
  plugin: string;
  reason: string;
  /** Such as "needs 4, has 1.5 left". Empty where no figure is behind the reason. */
  figures: string;
  step: string;
}

/** Returns what would have to change so that the node takes the pod. */
export function requirements(matrix: Matrix, node: number): Requirement[] {
  return rejectionsOf(matrix, node).flatMap(({ plugin = "", reasons = [""] }) =>
    reasons.map((reason) => ({ plugin, reason, figures: figures(matrix, node, reason), step: nextStep(plugin, reason) })),
  );
}

/** Returns the rejected node with the fewest reasons; of those, the one that lacks the smallest share of what is requested. */
export function closestNode(matrix: Matrix): number | undefined {
  let best: number | undefined;
  let [fewest, least] = [Infinity, Infinity];
  for (let node = 0; node < matrix.nodes.length; node++) {
    const reasons = rejectionsOf(matrix, node).length;
    const lack = reasons && reasons <= fewest ? lackOf(matrix, node) : Infinity;
    if (reasons && (reasons < fewest || (reasons === fewest && lack < least))) [best, fewest, least] = [node, reasons, lack];
  }
  return best;
}

function lackOf(matrix: Matrix, node: number): number {
  const lacks = matrix.resources.map(({ requested, free }) => (requested ? Math.max(0, requested - free[node]!) / requested : 0));
  return lacks.reduce((sum, lack) => sum + lack, 0);
}

function figures(matrix: Matrix, node: number, reason: string): string {
  const name = /^Too many pods/.test(reason) ? "pods" : /^Insufficient (\S+)/.exec(reason)?.[1];
  const resource = matrix.resources.find((one) => one.name === name);
  if (!resource) return "";
  const free = resource.free[node]!;
  const left = `needs ${quantity(resource.name, resource.requested)}, has ${quantity(resource.name, Math.max(0, free))} left`;
  return `${left}: ${quantity(resource.name, resource.requested - free)} short`;
}
