"""GangScheduling: pods in groups that are complete, that wait for more pods, or that nobody has made yet."""

from __future__ import annotations

from tests.conformance.families.draft import Draft, Manifest, pod_manifest
from tests.conformance.families.neighbours import put

GATES = {"1.36": {"GenericWorkload": True, "GangScheduling": True}, "1.37": {"GenericWorkload": True}}
API_VERSIONS = {"1.36": "scheduling.k8s.io/v1alpha2", "1.37": "scheduling.k8s.io/v1beta1"}
GROUPS = ["gang-0", "gang-1"]


def gangs(draft: Draft) -> None:
    draft.gates = draft.gates | GATES[draft.version]
    for i in range(draft.rng.randint(0, 4)):
        draft.nominated.append(pod_manifest(draft, f"member-{i}"))
    for namespace in draft.some(["default", "team-a", "team-b"], 1, 3):
        for name in draft.some(GROUPS, 1, 2):
            put(draft, _group(draft, name, namespace))
    for pod in draft.pods():
        if draft.chance(0.9 if pod is draft.pod else 0.6):
            pod["spec"]["schedulingGroup"] = {"podGroupName": draft.rng.choice(GROUPS)}


def _group(draft: Draft, name: str, namespace: str) -> Manifest:
    gang = {"gang": {"minCount": draft.rng.choice([1, 2, 2, 3, 5])}}
    policy = {"basic": {}} if draft.chance(0.15) else gang
    return {
        "apiVersion": API_VERSIONS[draft.version],
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": policy},
    }
