"""Valid claims and devices that are hard by design: a search has to find out early that it fails.

The long form says how long each kind takes, in processor time, and what comes of it:

    python -m tests.plugins.hard_devices --seed 7 --count 500
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.framework import CycleState, NodeView, Status
from mooring.framework.errors import PluginFailureError
from mooring.plugins.dynamic_resources.args import DynamicResourcesArgs
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.plugins.dynamic_resources.search.deadline import TimedOutError
from mooring.testing.builders import make_pod, node_manifest
from tests.plugins.harness import SetClock, make

Manifest = dict[str, Any]
DRIVER = "gpu.example.com"
VERSION = "resource.k8s.io/v1"
WITHIN = 0.25
"""Seconds of processor time in which an answer is wanted."""


class ProcessorClock(SetClock):
    """A clock that goes on with the processor time of this thread."""

    def monotonic(self) -> float:
        return self.seconds + time.thread_time()


class Draft:
    """The objects of one input: a node with devices, and claims of one pod."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.devices: list[Manifest] = []
        self.counters: list[Manifest] = []
        self.claims: list[Manifest] = []

    def device(self, **fields: Any) -> None:
        """Add a device."""
        self.devices.append({"name": f"d{len(self.devices)}", **fields})

    def claim(self, *requests: Manifest, **spec: Any) -> None:
        """Add a claim."""
        name = f"c{len(self.claims)}"
        asked = [{"name": f"r{at}", **request} for at, request in enumerate(requests)]
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        devices = {"requests": asked, **spec}
        self.claims.append(
            {
                "apiVersion": VERSION,
                "kind": "ResourceClaim",
                "metadata": metadata,
                "spec": {"devices": devices},
            }
        )

    def view(self) -> NodeView:
        """Return the node with all of it in the state."""
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2 if self.counters else 1}
        spec: Manifest = {"driver": DRIVER, "pool": pool, "nodeName": "a", "devices": self.devices}
        slices = [("a", spec)]
        if self.counters:
            slices.append(("a-counters", {**spec, "devices": [], "sharedCounters": self.counters}))
        objects = [
            node_manifest("a"),
            {"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
            *[
                {"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}
                for name, spec in slices
            ],
            *self.claims,
        ]
        state = State()
        state.replace("test", [from_manifest(item) for item in objects])
        return NodeView(state.snapshot, state.snapshot.nodes.rows())


def asking(**fields: Any) -> Manifest:
    """Return a request for devices of the one class."""
    asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}
    return {"exactly": asked}


def one_of(names: set[int]) -> list[Manifest]:
    """Return selectors of the devices with these numbers."""
    listed = ", ".join(map(str, sorted(names)))
    return [{"cel": {"expression": f'device.attributes["{DRIVER}"].number in [{listed}]'}}]


def numbered(draft: Draft, count: int, **fields: Any) -> None:
    """Add ``count`` devices that selectors tell apart."""
    for number in range(count):
        draft.device(attributes={"number": {"int": number}}, **fields)


def too_few(draft: Draft) -> None:
    """Many requests for devices that are alike, and one device too few."""
    count = draft.random.randint(8, 31)
    for _ in range(count):
        draft.device()
    draft.claim(*[asking() for _ in range(count + 1)])


def none_alike(draft: Draft) -> None:
    """Devices in groups with an attribute in common, each group one too small."""
    size, groups = draft.random.randint(5, 12), draft.random.randint(3, 10)
    for at in range(size * groups):
        draft.device(attributes={"group": {"int": at % groups}, "serial": {"string": f"s{at}"}})
    requests = draft.random.choice(([asking(count=size + 1)], [asking() for _ in range(size + 1)]))
    draft.claim(*requests, constraints=[{"matchAttribute": f"{DRIVER}/group"}])


def none_apart(draft: Draft) -> None:
    """Fewer values of an attribute than devices that must differ in it."""
    values = draft.random.randint(4, 12)
    for at in range(draft.random.randint(20, 80)):
        draft.device(attributes={"group": {"int": at % values}, "serial": {"string": f"s{at}"}})
    requests = draft.random.choice(([asking(count=values + 1)], [asking() for _ in range(values + 1)]))
    draft.claim(*requests, constraints=[{"distinctAttribute": f"{DRIVER}/group"}])


def crowded(draft: Draft) -> None:
    """Requests that select overlapping sets of devices, which have one too few."""
    some = draft.random.randint(6, 14)
    numbered(draft, draft.random.randint(some + 10, 60))
    few = set(range(some))
    least = max(2, some - draft.random.randint(0, 3))
    hungry = [asking(selectors=one_of(set(draft.random.sample(sorted(few), least)))) for _ in range(some + 1)]
    free = [asking() for _ in range(draft.random.randint(0, 6))]
    draft.claim(*free, *hungry)


def counted_out(draft: Draft) -> None:
    """Partitions of one device, with fewer counters than the requests need at least."""
    amounts = [draft.random.randint(20, 40) for _ in range(draft.random.randint(12, 40))]
    wanted = draft.random.randint(5, 10)
    total = sum(sorted(amounts)[:wanted]) - draft.random.randint(1, 10)
    draft.counters.append({"name": "gpu", "counters": {"memory": {"value": f"{total}Gi"}}})
    for at, amount in enumerate(amounts):
        taken = [{"counterSet": "gpu", "counters": {"memory": {"value": f"{amount}Gi"}}}]
        draft.device(attributes={"number": {"int": at}}, consumesCounters=taken)
    draft.claim(*[asking() for _ in range(wanted)])


def alternatives(draft: Draft) -> None:
    """Lists of alternatives, none of which can be had by all."""
    count = draft.random.randint(6, 16)
    for at in range(count):
        draft.device(attributes={"group": {"int": at % 3}})
    choices = [
        {"name": f"s{at}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1 + at % 2}
        for at in range(draft.random.randint(2, 8))
    ]
    draft.claim(*[{"firstAvailable": choices} for _ in range(count + 1)])


def many_claims(draft: Draft) -> None:
    """Several claims, each with an attribute in common, that the devices are one group short of."""
    claims, size = draft.random.randint(3, 6), draft.random.randint(3, 6)
    for at in range(size * (claims - 1) + size - 1):
        draft.device(attributes={"group": {"int": at // size}, "serial": {"string": f"s{at}"}})
    for _ in range(claims):
        draft.claim(*[asking() for _ in range(size)], constraints=[{"matchAttribute": f"{DRIVER}/group"}])


def tainted(draft: Draft) -> None:
    """Devices, most with a taint that all requests but a few tolerate."""
    count = draft.random.randint(8, 20)
    free = draft.random.randint(1, count // 2)
    taint = [{"key": "hot", "value": "yes", "effect": "NoSchedule"}]
    for at in range(count):
        draft.device(attributes={"number": {"int": at}}, **({"taints": taint} if at >= free else {}))
    tolerant = asking(tolerations=[{"key": "hot", "operator": "Exists"}])
    strict = [asking() for _ in range(free + 1)]
    draft.claim(*[tolerant for _ in range(count - free - 1)], *strict)


def shared(draft: Draft) -> None:
    """Shares of devices that have room for one too few."""
    devices, each = draft.random.randint(3, 10), draft.random.randint(1, 3)
    for at in range(devices):
        capacity = {"memory": {"value": f"{8 * each + 4}Gi"}}
        draft.device(attributes={"number": {"int": at}}, allowMultipleAllocations=True, capacity=capacity)
    asked = asking(capacity={"requests": {"memory": "8Gi"}})
    draft.claim(*[asked for _ in range(min(devices * each + 1, 32))])


def everything(draft: Draft) -> None:
    """All devices that fit, and requests for more than are left."""
    count = draft.random.randint(8, 24)
    numbered(draft, count)
    half = set(range(count // 2))
    all_of_them = {"deviceClassName": "gpu", "allocationMode": "All", "selectors": one_of(half)}
    draft.claim(*[asking() for _ in range(count - count // 2 + 1)], {"exactly": all_of_them})


def large_alternatives(draft: Draft) -> None:
    """Lists of alternatives, by which a claim could come to more devices than it can hold."""
    groups, size = draft.random.randint(2, 4), draft.random.randint(17, 24)
    for at in range(groups * size):
        draft.device(attributes={"group": {"int": at % groups}, "serial": {"string": f"s{at}"}})
    choices = [
        {"name": f"s{at}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
        for at, count in enumerate([*sorted(draft.random.sample(range(2, 9), 3), reverse=True), 1])
    ]
    requests = [{"firstAvailable": choices} for _ in range(size + 1)]
    draft.claim(*requests, constraints=[{"matchAttribute": f"{DRIVER}/group"}])


def unsure(draft: Draft) -> None:
    """One device too few, before a request at which the search would end with an error."""
    count = draft.random.randint(8, 28)
    numbered(draft, count)
    few = [asking() for _ in range(count + 1)]
    fails = asking(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].none == 1'}}])
    everything = {"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    constraint = [{"matchAttribute": f"{DRIVER}/number"}]
    last = draft.random.choice((fails, everything))
    draft.claim(*few)
    draft.claim(last, **({"constraints": constraint} if last is everything else {}))


def counted_twice(draft: Draft) -> None:
    """Partitions that take of several counters, each much of one and little of another."""
    names = [f"n{at}" for at in range(draft.random.randint(2, 4))]
    devices = [
        {name: draft.random.choice((1, 20)) + draft.random.randint(0, 9) for name in names}
        for _ in range(draft.random.randint(16, 48))
    ]
    wanted = draft.random.randint(4, 8)
    weights = sorted(sum(device.values()) for device in devices)
    each = sum(weights[:wanted]) // len(names) - draft.random.randint(0, 3)
    counters = {name: {"value": f"{each}Gi"} for name in names}
    draft.counters.append({"name": "gpu", "counters": counters})
    for at, device in enumerate(devices):
        amounts = {name: {"value": f"{amount}Gi"} for name, amount in device.items()}
        taken = [{"counterSet": "gpu", "counters": amounts}]
        draft.device(attributes={"number": {"int": at}}, consumesCounters=taken)
    draft.claim(*[asking() for _ in range(wanted)])


def packed(draft: Draft) -> None:
    """Shares of different sizes; one too many of them is more than a third of a device."""
    devices = draft.random.randint(3, 12)
    for at in range(devices):
        capacity = {"memory": {"value": "90Gi"}}
        draft.device(attributes={"number": {"int": at}}, allowMultipleAllocations=True, capacity=capacity)
    asked = [
        asking(capacity={"requests": {"memory": f"{draft.random.randint(31, 44)}Gi"}})
        for _ in range(2 * devices + 1)
    ]
    draft.claim(*asked)


KINDS: dict[str, Callable[[Draft], None]] = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        too_few,
        none_alike,
        none_apart,
        crowded,
        counted_out,
        alternatives,
        many_claims,
        tainted,
        shared,
        everything,
        large_alternatives,
        unsure,
        counted_twice,
        packed,
    )
}


def answer(kind: str, seed: int, timeout: timedelta = timedelta(seconds=10)) -> tuple[Status, float]:
    """Return Filter's status of the node for one input, and the seconds of processor time that it takes."""
    draft = Draft(random.Random(f"{kind} {seed}"))
    KINDS[kind](draft)
    began = time.thread_time()
    status, _ = answer_to(draft, timeout)
    return status, time.thread_time() - began


def answer_to(
    draft: Draft, timeout: timedelta = timedelta(seconds=10), gates: Mapping[str, bool] | None = None
) -> tuple[Status, list[list[tuple[str, str]]]]:
    """Return Filter's status of the node, and by claim the devices that it found, each with its choice."""
    view, state = draft.view(), CycleState()
    args = DynamicResourcesArgs(filter_timeout=timeout)
    plugin = make(DynamicResources, args, clock=ProcessorClock(), gates=gates)
    entries = [
        {"name": f"e{at}", "resourceClaimName": item["metadata"]["name"]}
        for at, item in enumerate(draft.claims)
    ]
    pod = make_pod(metadata={"uid": "uid-pod"}, spec={"resourceClaims": entries})
    plugin.pre_filter(state, pod, view)
    try:
        said = plugin.filter_nodes(state, pod, view)
    except (PluginFailureError, TimedOutError) as failure:
        return Status.error(str(failure)), []
    found = state.read(plugin.name, ClaimsState).found.of_claims
    names = [[(choice.name, candidate.id.device) for choice, candidate in claim] for claim in found]
    return said.statuses[said.codes[0]], names


def answers(kind: str, seed: int, count: int) -> Iterator[tuple[Status, float]]:
    """Yield the ``answer`` to each of ``count`` inputs."""
    return (answer(kind, number) for number in range(seed, seed + count))


def main() -> None:
    """Print, for each kind, how many answers there are by status, and the longest time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="inputs of each kind")
    parser.add_argument("--kind", choices=sorted(KINDS))
    args = parser.parse_args()
    for kind in [args.kind] if args.kind else KINDS:
        said = list(answers(kind, args.seed, args.count))
        times = sorted(seconds for _, seconds in said)
        late = sum(seconds > WITHIN for seconds in times)
        statuses = dict(Counter(status.message or "found" for status, _ in said))
        median, longest = 1000 * times[len(times) // 2], 1000 * times[-1]
        print(f"{kind}: {len(said)} inputs, median {median:.1f} ms, longest {longest:.0f} ms, {late} late")
        print(f"    {statuses}")


if __name__ == "__main__":
    main()
