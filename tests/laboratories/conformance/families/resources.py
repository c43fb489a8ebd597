"""NodeResourcesFit and NodeResourcesBalancedAllocation: every way in which pods ask and nodes offer."""

from __future__ import annotations

from tests.laboratories.conformance.families import quantities
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest

EXTENDED = ["example.com/gpu", "example.com/fpga", "other.example/license", "deep.other.example/fast"]
EXTENDED.append("kubernetes.io/batch")
"""The last is not an extended resource, but counts as one in Fit."""
HUGE = "hugepages-2Mi"
BESIDES = {"attachable-volumes-aws-ebs": "39", "hugepages-1Gi": "0", "example.com/idle": "7", "foo": "3"}
"""A resource without requests."""


def room(draft: Draft) -> None:
    """Nodes with little and with odd room, so that some fit, some do not, and scores differ."""
    rng = draft.rng
    for node in draft.nodes:
        tight = draft.chance(0.25)
        allocatable = {
            "cpu": quantities.cpu(
                rng, rng.choice([0, 500, 1000, 1930, 2000] if tight else [3000, 4000, 7910, 16000])
            ),
            "memory": quantities.size(
                rng, rng.choice([0, 512, 1024, 3001] if tight else [4096, 8192, 15001, 32768])
            ),
            "pods": rng.choice(["0", "1", "2", "10"] if tight else ["110", "250"]),
            "ephemeral-storage": quantities.size(rng, rng.choice([0, 1024] if tight else [10240, 102400])),
        }
        for name in draft.some(EXTENDED, 1, 2) if tight else EXTENDED:
            allocatable[name] = quantities.count(rng, rng.choice([0, 1, 2] if tight else [4, 8, 1000]))
        if draft.chance(0.3 if tight else 0.8):
            allocatable[HUGE] = quantities.size(rng, 2048)
        if draft.chance(0.2):
            allocatable |= BESIDES
        if draft.chance(0.03):
            del allocatable[rng.choice(["cpu", "memory", "pods", "ephemeral-storage"])]
        node["status"] = {"capacity": dict(allocatable), "allocatable": allocatable}
        if draft.chance(0.05):
            # Capacity is not what counts.
            node["status"]["capacity"]["cpu"] = "64"


def requests(draft: Draft) -> None:
    room(draft)
    for pod in draft.pods():
        small = pod is not draft.pod
        for container in pod["spec"]["containers"]:
            _ask(draft, container, small)
        if draft.chance(0.3):
            _add_init_containers(draft, pod, small)
        if draft.chance(0.1):
            pod["spec"]["overhead"] = {
                "cpu": quantities.cpu(draft.rng, 150),
                "memory": quantities.size(draft.rng, 64),
            }
            if draft.chance(0.3):
                pod["spec"]["overhead"]["ephemeral-storage"] = quantities.size(draft.rng, 20)
    _finish_or_end_some(draft)


def _ask(draft: Draft, container: Manifest, small: bool) -> None:
    rng = draft.rng
    asked: Manifest = {}
    # The pods that are there lean to one resource or the other, so that nodes are out of balance.
    if draft.chance(0.75):
        amounts = [0, 100, 333, 500, 900] if small else [0, 1, 100, 250, 333, 500, 1000, 2500]
        asked["cpu"] = quantities.cpu(rng, rng.choice(amounts))
    if draft.chance(0.75):
        amounts = [0, 64, 333, 1024, 1500] if small else [0, 1, 100, 200, 333, 512, 1024, 2048]
        asked["memory"] = quantities.size(rng, rng.choice(amounts))
    if draft.chance(0.2):
        asked["ephemeral-storage"] = quantities.size(rng, rng.choice([0, 10, 1024, 4096]))
    whole: Manifest = {}
    if draft.chance(0.2):
        for name in draft.some(EXTENDED, 1, 2):
            whole[name] = quantities.count(rng, rng.choice([0, 1, 1, 2]))
    if draft.chance(0.1) and ("cpu" in asked or "memory" in asked):
        whole[HUGE] = rng.choice(["0", "2Mi", "512Mi"])
    resources: Manifest = {}
    if asked or whole:
        resources["requests"] = asked | whole
    if whole:
        # Extended resources and huge pages cannot be overcommitted: the limit is the request.
        resources["limits"] = whole
    container["resources"] = resources


def _add_init_containers(draft: Draft, pod: Manifest, small: bool) -> None:
    init = []
    for i in range(draft.rng.randint(1, 3)):
        container: Manifest = {"name": f"init{i}", "image": "registry.example/init:1"}
        _ask(draft, container, small)
        if draft.chance(0.5):
            container["restartPolicy"] = "Always"
        init.append(container)
    pod["spec"]["initContainers"] = init


def _finish_or_end_some(draft: Draft) -> None:
    for pod in draft.assigned:
        if draft.chance(0.05):
            pod["status"]["phase"] = draft.rng.choice(["Succeeded", "Failed"])
        elif draft.chance(0.05):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
        elif draft.chance(0.03):
            pod["spec"]["nodeName"] = "node-that-is-gone"


def pod_level(draft: Draft) -> None:
    """Draft pod-level requests, which replace the containers' sum; limits, which fill them in."""
    requests(draft)
    for pod in [draft.pod, *draft.some(draft.assigned, 0, 3)]:
        cpu, memory = draft.rng.choice([3000, 5000, 12000]), draft.rng.choice([4096, 6144, 16384])
        level = {"cpu": quantities.cpu(draft.rng, cpu), "memory": quantities.size(draft.rng, memory)}
        own = pod["spec"]["resources"] = {
            field: {name: level[name] for name in draft.some(list(level), 0, 2)}
            for field in draft.rng.choice([["requests"], ["requests"], ["limits"], ["requests", "limits"]])
        }
        if any(own.values()) and draft.chance(0.2):
            # Huge pages cannot be overcommitted: there is a limit, and the request is the same.
            own.setdefault("limits", {})[HUGE] = "2Gi"
            if draft.chance(0.5):
                own.setdefault("requests", {})[HUGE] = "2Gi"


RESIZING: list[Manifest] = [
    {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
    {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
    {"type": "PodResizePending", "status": "True", "reason": "Deferred"},
    {"type": "PodResizePending", "status": "False", "reason": "Infeasible"},
    {"type": "PodResizeInProgress", "status": "True"},
]


def resize(draft: Draft) -> None:
    """Draft pods under an in-place resize: the largest of the requested, allocated and actual amounts
    counts.
    """
    requests(draft)
    for pod in draft.assigned:
        for field, containers in {
            "containerStatuses": pod["spec"]["containers"],
            "initContainerStatuses": pod["spec"].get("initContainers", []),
        }.items():
            if statuses := [
                _container_status(draft, container) for container in containers if draft.chance(0.8)
            ]:
                pod["status"][field] = statuses
        if draft.chance(0.6):
            pod["status"]["conditions"] = [draft.rng.choice(RESIZING)]


def _container_status(draft: Draft, container: Manifest) -> Manifest:
    status: Manifest = {"name": container["name"], "image": container["image"], "imageID": ""}
    status |= {"ready": True, "restartCount": 0}
    if draft.chance(0.8):
        status["allocatedResources"] = _amounts(draft)
    if draft.chance(0.8):
        status["resources"] = {"requests": _amounts(draft)}
    return status


def _amounts(draft: Draft) -> Manifest:
    amounts = {
        "cpu": quantities.cpu(draft.rng, draft.rng.choice([0, 100, 400, 900])),
        "memory": quantities.size(draft.rng, draft.rng.choice([0, 50, 300, 700])),
    }
    return {name: amounts[name] for name in draft.some(list(amounts), 1, 2)}


def pod_level_resize(draft: Draft) -> None:
    """An in-place resize of pods that also have pod-level requests."""
    resize(draft)
    for pod in draft.some(draft.assigned, 0, 4):
        pod["spec"]["resources"] = {"requests": {"cpu": "9", "memory": "8Gi"}}
        if draft.chance(0.7):
            pod["status"]["allocatedResources"] = {"cpu": draft.rng.choice(["4", "9500m"]), "memory": "8Gi"}
        if draft.chance(0.7):
            pod["status"]["resources"] = {"requests": {"cpu": draft.rng.choice(["5", "10"]), "memory": "9Gi"}}


def nothing_asked(draft: Draft) -> None:
    """Pods without any request: the defaults of scoring show, and Fit checks the number of pods alone."""
    room(draft)
    for pod in draft.pods():
        for container in pod["spec"]["containers"]:
            container["resources"] = draft.rng.choice(
                [{}, {}, {"requests": {"cpu": "0"}}, {"requests": {"memory": "0"}}]
            )


def huge(draft: Draft) -> None:
    """Draft amounts up to a hundredth of the 64-bit range: beyond it, kube-scheduler's own products wrap
    around.
    """
    requests(draft)
    rng = draft.rng
    for node in draft.nodes:
        for name, spellings in {
            "memory": ["92233720368547758", "81Pi", "90P", "33T", "5Ti"],
            "cpu": ["92233720368547", "92T", "123456789", "5G", "1M"],
        }.items():
            if draft.chance(0.6):
                node["status"]["allocatable"][name] = node["status"]["capacity"][name] = rng.choice(spellings)
    for pod in [draft.pod, *draft.some(draft.assigned, 0, 2)]:
        for container in pod["spec"]["containers"]:
            if draft.chance(0.5):
                asked = container.setdefault("resources", {}).setdefault("requests", {})
                asked["memory"] = rng.choice(["1Ti", "30P", "20Pi", "45000000000000001"])
                asked["cpu"] = rng.choice(["1k", "30T", "61728394", "2500M"])


def least_allocated(draft: Draft) -> None:
    _strategy(draft, {"type": "LeastAllocated"})


def most_allocated(draft: Draft) -> None:
    _strategy(draft, {"type": "MostAllocated"})


def capacity_ratio(draft: Draft) -> None:
    """Shapes that rise, fall, or both, of one point to five."""
    at = sorted(draft.some(range(101), 1, 5))
    shape = [{"utilization": utilization, "score": draft.rng.randint(0, 10)} for utilization in at]
    _strategy(draft, {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}})


def _strategy(draft: Draft, strategy: Manifest) -> None:
    """A scoring strategy of Fit, and resource lists for both plugins."""
    rng = draft.rng
    rng.choice(ASKING if draft.version >= "1.35" else ASKING_BEFORE_1_35)(draft)
    if draft.chance(0.8):
        listed = draft.some(["cpu", "memory", "ephemeral-storage", *EXTENDED, HUGE], 1, 4)
        strategy["resources"] = [{"name": name, "weight": rng.choice([1, 2, 3, 10, 100])} for name in listed]
        if draft.chance(0.2):
            strategy["resources"] = [{"name": name} for name in listed]
    args: Manifest = {"scoringStrategy": strategy}
    if draft.chance(0.3):
        args["ignoredResources"] = draft.some(["cpu", HUGE, *EXTENDED], 1, 3)
    if draft.chance(0.3):
        args["ignoredResourceGroups"] = draft.some(["example.com", "other.example", "kubernetes.io"], 1, 2)
    draft.args["NodeResourcesFit"] = args
    if draft.chance(0.5):
        listed = draft.some(["cpu", "memory", "ephemeral-storage", "pods", *EXTENDED, HUGE], 1, 4)
        weighted = [{"name": name} | ({"weight": 1} if draft.chance(0.8) else {}) for name in listed]
        draft.args["NodeResourcesBalancedAllocation"] = {"resources": weighted}


ASKING_BEFORE_1_35: list[Family] = [requests, requests, pod_level, resize, nothing_asked]
ASKING = [*ASKING_BEFORE_1_35, pod_level_resize]
