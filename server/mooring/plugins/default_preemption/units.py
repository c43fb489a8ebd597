"""Victims: pods that are preempted together, and which of them are more important.

Mirrors ``Victim``, ``getCrossNodesVictims`` and ``MoreImportantVictim`` in types.go and util.go of
``framework/preemption``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mooring.framework import Pod, Snapshot
from mooring.framework.deadline import timely
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import PodGroup
from mooring.framework.pod_table import PodRecord
from mooring.plugins.default_preemption.importance import started_at


@dataclass(frozen=True, slots=True)
class VictimUnit:
    """Pods that are preempted together: one pod, or all pods of a group with the disruption mode ``all``.

    Attributes:
        pods: The pods, on any nodes.
        priority: The priority of their group, or of the pod.
        started: When the first of them started, in seconds since the epoch.
        place: Its position in the order of arrival if none of its pods has started, else None.
        grouped: Whether they belong to a group, which makes them more important than a lone pod.
    """

    pods: tuple[Pod, ...]
    priority: int
    started: float
    place: int | None
    grouped: bool = False

    @classmethod
    def of(
        cls, pods: tuple[Pod, ...], priority: int, now: float, place: int, *, grouped: bool = False
    ) -> VictimUnit:
        """Return the unit of ``pods``; a pod that hasn't started counts as started ``now``."""
        started = min(started_at(pod, now) for pod in pods)
        return cls(pods, priority, started, place if started == now else None, grouped)


def by_importance(units: Sequence[VictimUnit], *, in_order: bool = True) -> list[VictimUnit]:
    """Return ``units``, the most important first: by priority, groups before lone pods, by size, by age.

    Units that haven't started are in the order of their arrival, as in Kubernetes 1.37: there kube-scheduler
    reads each start time once. Without ``in_order`` the last of ``units`` comes first, as before 1.37: there
    kube-scheduler reads the clock in each comparison, and for the later pod first.
    """

    def rank(position: int) -> tuple[int, bool, int, float, int]:
        unit = units[position]
        place = position
        if unit.place is not None:
            place = unit.place if in_order else -position
        return -unit.priority, not unit.grouped, -len(unit.pods), unit.started, place

    return [units[position] for position in sorted(range(len(units)), key=rank)]


def pods_of(units: Iterable[VictimUnit]) -> tuple[Pod, ...]:
    """Return the pods of all units."""
    return tuple(pod for unit in units for pod in unit.pods)


@dataclass(frozen=True, slots=True)
class VictimUnits:
    """The placed pods as possible victims.

    Attributes:
        snapshot: The cluster with the pods.
        now: Seconds since the epoch; counts as the start of a pod that hasn't started.
        grouping: Whether groups count; otherwise each pod stands alone.
    """

    snapshot: Snapshot
    now: float
    grouping: bool

    def on(self, rows: Iterable[int], below: int) -> Iterator[VictimUnit]:
        """Yield the units with a pod on ``rows`` that are less important than the priority ``below``.

        Each comes once, in the order of the rows; on a node, in the order in which their first pods arrived.
        Raises NotFoundError if a pod of such a group is on a node that was deleted (NODE_NOT_FOUND).
        """
        together: set[tuple[str, str]] = set()
        place = 0
        for row in rows:
            for record in self.snapshot.pods.records_on(row):
                place += 1
                key = self._key(record)
                group, priority = self._group(key), self.priority(record)
                if key is None or group is None or not group.goes_together:
                    if priority < below:
                        alone = (record.pod,)
                        yield VictimUnit.of(alone, priority, self.now, place, grouped=key is not None)
                elif key not in together:
                    together.add(key)
                    pods = tuple(self.snapshot.pods.placed_in_group(key)) or (record.pod,)
                    self._check_nodes(pods)
                    if priority < below:
                        yield VictimUnit.of(pods, priority, self.now, place, grouped=True)

    def any_below(self, priority: int) -> bool:
        """Return whether a unit may be less important. Often none is, and no node has to be searched."""
        pods = self.snapshot.pods
        if self.grouping and pods.groups:
            return True
        return min(pods.priorities.copy(), default=priority) < priority

    def priority(self, record: PodRecord) -> int:
        """Return the priority of a pod, or of its group."""
        group = self._group(self._key(record))
        return record.kind.base.template.priority if group is None else group.spec.priority or 0

    def is_any_leaving(self, node_names: Iterable[str], below: int) -> bool:
        """Return whether the scheduler has preempted pods on these nodes that still terminate, with a
        priority lower than ``below``.
        """
        index = self.snapshot.nodes.index
        rows = [index[name] for name in node_names if name in index]
        records = (record for row in rows for record in self.snapshot.pods.records_on(row))
        return any(
            _is_leaving(record.kind.base.template) and self.priority(record) < below for record in records
        )

    def _key(self, record: PodRecord) -> tuple[str, str] | None:
        return record.kind.base.template.group if self.grouping else None

    def _group(self, key: tuple[str, str] | None) -> PodGroup | None:
        return None if key is None else self.snapshot.objects.get(PodGroup, key[1], key[0])

    def _check_nodes(self, pods: Sequence[Pod]) -> None:
        for pod in timely(pods):
            name = pod.spec.node_name
            if name not in self.snapshot.nodes.index:
                lost = f'nodeinfo not found for node name "{name}"'
                text = f'failed to get node info for node "{name}" from snapshot: {lost}'
                raise NotFoundError(text, reason="NODE_NOT_FOUND", node=name)


def _is_leaving(pod: Pod) -> bool:
    """Return whether ``pod`` is being deleted because the scheduler preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False
