"""Ways to make room for a group that fits nowhere: PodGroupPostFilter, and the cluster without some pods.

Mirrors ``RunPodGroupPostFilterPlugins`` in ``framework/runtime/framework.go`` and the mutable snapshot that
``preemption/podgrouppreemption.go`` works on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from mooring.framework import (
    Code,
    CycleState,
    GroupPreemption,
    GroupWhatIf,
    Pod,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    Remedy,
    Status,
)
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.filters_read import independent
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure
from mooring.runtime.cycle.sampling import search_order
from mooring.runtime.cycle.tried_pods import PodsOnFork
from mooring.runtime.cycle.what_if import NodesWhatIf
from mooring.runtime.profiles.profile import Enabled

_POINT = "PodGroupPostFilter"


class TriedAgain:
    """Implements ``mooring.framework.GroupWhatIf``.

    Args:
        world: A private copy of the state, for nothing else from now on.
        rejected: The decision about the group.
        again: Tries it there once more.
    """

    def __init__(
        self,
        world: ClusterState,
        rejected: GroupDecision,
        again: Callable[[], GroupDecision],
        calls: PluginCalls,
    ) -> None:
        self.snapshot = world.snapshot
        rows = world.snapshot.nodes.rows()
        self.rows = rows[search_order(world.snapshot.nodes, rows)]
        self.noted: Sequence[tuple[Pod, CycleState | None]] = [
            (member.pod, _noted(member.choice))
            for one in rejected.tried
            for member in one.members
            if member.choice is not None
        ]
        self.assignments: Sequence[tuple[Pod, str]] = ()
        self._world = world
        self._again = again
        self._calls = calls
        self._gone: dict[str, PodKind] = {}
        self._notes: list[NodesWhatIf] = []
        self._independent = False

    def remove(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            uid = pod.metadata.uid
            self._gone[uid] = self._world.snapshot.pods.records[uid].kind
            self._world.discard(uid)

    def schedule(self) -> Status:
        decision = self._again()
        placed = [(member, member.choice) for member in decision.placed]
        self.assignments = tuple((member.pod, member.node_name) for member, _ in placed)
        evaluations = [choice.evaluation for _, choice in placed if choice is not None]
        pods = PodsOnFork(self._world)
        self._notes = [NodesWhatIf(evaluation, pods, self._calls) for evaluation in evaluations]
        self._independent = all(map(independent, evaluations))
        return decision.status

    def put_back(self, pods: Sequence[Pod]) -> bool:
        for pod in pods:
            self._world.assume(pod, pod.spec.node_name, self._gone[pod.metadata.uid])
            self._tell("add_pod", pod)
        if self._fits({pod.spec.node_name for pod in pods}):
            return True
        for pod in pods:
            self._world.discard(pod.metadata.uid)
            self._tell("remove_pod", pod)
        return False

    def _fits(self, touched: Collection[str]) -> bool:
        """Return whether all assignments pass the filters, each together with those before it.

        They did before pods came to ``touched`` nodes; others are skipped if no plugin reads across nodes.
        """
        counted: list[str] = []
        try:
            for (pod, node_name), notes in zip(self.assignments, self._notes, strict=True):
                if self._independent and node_name not in touched:
                    continue
                if not notes.statuses([node_name])[0].ok:
                    return False
                self._world.assume(pod, node_name)
                counted.append(pod.metadata.uid)
        finally:
            for uid in reversed(counted):
                self._world.forget(uid)
        return True

    def _tell(self, method: str, pod: Pod) -> None:
        for notes in self._notes:
            notes.hear(method, pod.spec.node_name, pod)


def _noted(choice: Choice) -> CycleState | None:
    return choice.source.state if isinstance(choice.source, Evaluation) else None


def make_room(
    plugins: Sequence[Enabled[PodGroupPostFilterPlugin[Any]]],
    state: CycleState,
    group: PodGroupInfo,
    what_if: GroupWhatIf,
    calls: PluginCalls,
) -> GroupPreemption:
    """Return what the plugins say: the first that does not leave it to the next one decides. Raises
    PluginFailureError if a plugin raised, or returned something else.
    """
    reasons: list[str] = []
    remedies: list[Remedy] = []
    first = ""
    with calls.point(_POINT) as point:
        for name, plugin in ((each.name, each.plugin) for each in plugins):
            found = calls.call(name, _POINT, plugin.post_filter_group, state, group, what_if)
            if not isinstance(found, GroupPreemption):
                raise plugin_failure(name, _POINT, f"returned {type(found).__name__}, not GroupPreemption")
            point.status = found.status.code
            if found.status.code is Code.ERROR:
                text = f'error in "{name}" PodGroupPostFilter plugins: {found.status.message}'
                return GroupPreemption(Status.error(text).by(name))
            remedies.extend(found.remedies)
            if found.status.code is not Code.UNSCHEDULABLE:
                return replace(found, status=found.status.by(name), remedies=tuple(remedies))
            reasons.extend(found.status.reasons)
            first = first or name
    status = Status(Code.UNSCHEDULABLE, tuple(reasons), first)
    return GroupPreemption(status, remedies=tuple(remedies))
