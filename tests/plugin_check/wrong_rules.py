"""Rules that answer wrongly. ``test_playing`` has the fault of each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.framework import (
    SUCCESS,
    ActionType,
    CacheablePlugin,
    CycleState,
    Dependencies,
    EventResource,
    FilterPlugin,
    Handle,
    HintedEvent,
    Int64s,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    Pure,
    ScorePlugin,
    Status,
)
from mooring.framework.objects import Service

NO = Status.unschedulable("node(s) were not liked")


class Raises(ScorePlugin[None]):
    name = "Raises"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return min(100, int(node.labels.get("load", "50")))  # raises


class Gpus(ScorePlugin[None]):
    name = "Gpus"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.allocatable["example.com/gpu"] else 0


class Marks(FilterPlugin[None]):
    name = "Marks"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        pod.metadata.labels["seen"] = node.name  # type: ignore[index] # what is wrong with it
        return SUCCESS


class MarksPurely(Marks, Pure):
    name = "MarksPurely"


class Sets(FilterPlugin[None]):
    name = "Sets"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        pod.spec.priority = 9  # type: ignore[misc] # what is wrong with it
        return SUCCESS


class TooMuch(ScorePlugin[None]):
    name = "TooMuch"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 200 if "app" in node.labels else 0


class Hidden(ScorePlugin[None]):
    name = "Hidden"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 200 if "-".join(("rack", "id")) in node.labels else 0  # noqa: FLY002


class Float(ScorePlugin[None]):
    name = "Float"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> Any:
        return 99.5 if "app" in node.labels else 0


class NoStatus(FilterPlugin[None]):
    name = "NoStatus"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Any:
        return None if "app" in node.labels else SUCCESS


class Again(ScorePlugin[None]):
    name = "Again"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return time.perf_counter_ns() % 100


class First(ScorePlugin[None]):
    name = "First"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        scores = nodes.allocatable("cpu") * 0
        scores[0] = 100
        return scores


class Identity(ScorePlugin[None]):
    name = "Identity"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return sum(map(ord, object.__repr__(node.node))) % 100


class Shared(PreFilterPlugin[None], FilterPlugin[None]):
    name = "Shared"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        self.wanted = pod.metadata.name
        time.sleep(0.001)  # another thread's turn
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if self.wanted == pod.metadata.name else NO


class Stale(FilterPlugin[None]):
    name = "Stale"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.known: dict[str, str] = {}

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        tier = self.known.setdefault(node.name, node.labels.get("tier", ""))
        return NO if tier else SUCCESS


class Undeclared(FilterPlugin[None], CacheablePlugin):
    name = "Undeclared"

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=(), parts=Part.NODES)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if pod.metadata.labels.get("tier") == node.labels.get("tier") else SUCCESS


class Blind(PreFilterPlugin[None], CacheablePlugin):
    """Reads services, and says nothing of them."""

    name = "Blind"
    reads = (Service,)

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=(), parts=Part.NODES)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        services = nodes.snapshot.objects.all(Service)
        return NO if any("tier" in each.metadata.annotations for each in services) else SUCCESS


class NotTold(PreFilterPlugin[None], FilterPlugin[None]):
    name = "NotTold"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write("NotTold", {node.name: len(node.records) for node in nodes.infos()})
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if state.read("NotTold", dict).get(node.name, 0) > 1 else SUCCESS


class Unprepared(NotTold):
    name = "Unprepared"

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        state.read("NotTold", dict)["nowhere"] -= 1
        return SUCCESS

    add_pod = remove_pod


class Asleep(FilterPlugin[None]):
    name = "Asleep"

    def events_to_register(self) -> Sequence[HintedEvent]:
        return (HintedEvent.of(EventResource.NODE, ActionType.ADD),)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if node.labels.get("tier") else SUCCESS


class Late(ScorePlugin[None], Pure):
    name = "Late"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        import socket

        return len(socket.gethostname()) % 100  # late


class Counted(FilterPlugin[None], ScorePlugin[None]):
    name = "Counted"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if int(node.name.removeprefix("n")) % 2 else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 7


class Encoded(FilterPlugin[None], Pure):
    name = "Encoded"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if len(msgspec.json.encode(pod.spec)) > 10_000 else SUCCESS
