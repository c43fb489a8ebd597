/** What would wake a pod, as a sentence: the scheduler's names of events in words. */

const RESOURCES: Record<string, string> = {
  "*": "anything",
  Pod: "a pod",
  AssignedPod: "a pod on a node",
  UnscheduledPod: "a pending pod",
  TargetPod: "the pod itself",
  Node: "a node",
};

const ACTIONS: Record<string, string> = {
  Add: "is added",
  Delete: "goes",
  Update: "changes",
  "*": "changes",
  UpdateOther: "changes",
  UpdateNodeAllocatable: "offers another amount",
  UpdateNodeLabel: "gets other labels",
  UpdateNodeTaint: "gets other taints",
  UpdateNodeCondition: "gets another condition",
  UpdateNodeAnnotation: "gets other annotations",
  UpdateNodeDeclaredFeature: "declares other features",
  UpdatePodLabel: "gets other labels",
  UpdatePodScaleDown: "requests less",
  UpdatePodScaleUp: "requests more",
  UpdatePodToleration: "gets a toleration",
  UpdatePodSchedulingGatesEliminated: "loses its gates",
  UpdatePodGeneratedResourceClaim: "gets its claim",
};

/** Returns "a node is added or gets other labels; a pod on a node goes" for Node/Add, Node/UpdateNodeLabel, AssignedPod/Delete. */
export function eventWords(events: readonly string[]): string {
  const byResource = new Map<string, string[]>();
  for (const event of events) {
    const [, resource = event, action = ""] = /^(.*)\/([^/]*)$/.exec(event) ?? [];
    const words = ACTIONS[action] ?? action.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
    byResource.set(resource, [...(byResource.get(resource) ?? []), words]);
  }
  return [...byResource].map(([resource, actions]) => `${subject(resource)} ${alternatives(actions)}`).join("; ");
}

function subject(resource: string): string {
  return RESOURCES[resource] ?? `a ${resource.replace(/^.*\//, "")}`;
}

function alternatives(actions: readonly string[]): string {
  const distinct = [...new Set(actions)];
  return distinct.length > 1 ? `${distinct.slice(0, -1).join(", ")} or ${distinct.at(-1)}` : (distinct[0] ?? "");
}
