"""Nodes and the tables as a plugin gets them that note each read. For one call and one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mooring.framework import Int32s, Int64s, NodeInfo, NodeView, ObjectTable, Pod, Snapshot
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Node, Object
from mooring.framework.pod_counter import PodCounter
from mooring.framework.pod_table import PodRecord, PodTable
from mooring.framework.view import NodesChangedError
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    COLUMNS,
    COUNTED,
    ENTRY,
    MEASURED,
    NODE,
    NODES,
    OBJECTS,
    OFFERED,
    PODS,
    REQUESTED,
    WHOLE,
    NotFollowedError,
    measurements,
)
from mooring.runtime.pure.views import AmountsView, MeasurementsView, Seen, view_class

_node_view = view_class(Node, (NODE,))


Counts = Callable[[PodCounter, Snapshot, Pod], Int64s]
"""Returns the counts of a counter for a pod, int64[capacity]."""


def count_by_row(counter: PodCounter, snapshot: Snapshot, pod: Pod) -> Int64s:
    """Return the counts of ``counter``."""
    return counter.by_row(snapshot, pod)


class NodeInfoView:
    """A ``NodeInfo`` whose fields are read from the tables one by one."""

    __slots__ = ("_counts", "_row", "_seen", "_snapshot")

    def __init__(self, seen: Seen, snapshot: Snapshot, row: int, counts: Counts = count_by_row) -> None:
        self._seen, self._snapshot, self._row, self._counts = seen, snapshot, row, counts

    __class__ = property(lambda _: NodeInfo)  # isinstance holds

    @property
    def name(self) -> str:
        """As of ``NodeInfo``."""
        name: str = self.node.metadata.name
        return name

    @property
    def node(self) -> Node:
        """As of ``NodeInfo``."""
        node = self._snapshot.nodes.nodes[self._row]
        if node is None:
            raise NodesChangedError
        view: Node = _node_view(self._seen, node)
        return view

    @property
    def allocatable(self) -> Mapping[str, int]:
        """As of ``NodeInfo``."""
        return AmountsView(self._seen, ALLOCATABLE, self._snapshot, self._row)

    @property
    def requested(self) -> Mapping[str, int]:
        """As of ``NodeInfo``."""
        return AmountsView(self._seen, REQUESTED, self._snapshot, self._row)

    @property
    def records(self) -> tuple[PodRecord, ...]:
        """As of ``NodeInfo``."""
        self._seen.setdefault((PODS,), None)
        return tuple(self._snapshot.pods.records_on(self._row))

    @property
    def measurements(self) -> Mapping[str, int | None]:
        """As of ``NodeInfo``."""
        return MeasurementsView(self._seen, (MEASURED,), measurements(self._snapshot, self._row))

    def count_pods(self, counter: PodCounter, pod: Pod) -> int:
        """As of ``NodeInfo``."""
        if type(pod) is Pod:
            raise NotFollowedError("counts pods for others than the pod that is decided about")
        counter.selects(pod)  # which notes what it reads of the pod
        count = self._counts(counter, self._snapshot, pod).item(self._row)
        self._seen.setdefault((COUNTED, counter), count)
        return count

    pods = NodeInfo.pods
    labels = NodeInfo.labels
    annotations = NodeInfo.annotations
    taints = NodeInfo.taints
    cpu_millicores = NodeInfo.cpu_millicores
    memory_bytes = NodeInfo.memory_bytes


class ObjectsView:
    """An ``ObjectTable`` that notes the kinds that are read."""

    def __init__(self, seen: Seen, real: ObjectTable) -> None:
        self._seen, self._real = seen, real

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._real, name)
        if name == "namespace_labels":
            return lambda namespace: ObjectTable.namespace_labels(self, namespace)  # type: ignore[arg-type]
        if name not in ("get", "all", "in_namespace", "version", "changes_since"):
            self._seen.setdefault((OBJECTS, WHOLE), None)
            return member

        def of_kind(kind: type[Object], *args: Any, **options: Any) -> Any:
            self._seen.setdefault((OBJECTS, kind), None)
            return member(kind, *args, **options)

        return of_kind

    def versions(self, kinds: Iterable[type[Object]]) -> tuple[int, ...]:
        """As of ``ObjectTable``."""
        return tuple([self.version(kind) for kind in kinds])


class NodesColumn(Sequence[Node | None]):
    """The node of each row, as views."""

    def __init__(self, seen: Seen, real: Sequence[Node | None]) -> None:
        self._seen, self._real = seen, real

    def __getitem__(self, row: Any) -> Any:
        self._seen.setdefault((NODES,), None)
        node = self._real[row]
        return None if node is None else _node_view(self._seen, node)

    def __len__(self) -> int:
        self._seen.setdefault((NODES,), None)
        return len(self._real)


class TableView:
    """A ``NodeTable`` or a ``PodTable`` that notes which columns are read."""

    def __init__(self, seen: Seen, real: NodeTable | PodTable) -> None:
        self._seen, self._real = seen, real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name == "nodes":
            return NodesColumn(self._seen, value)
        self._seen.setdefault((COLUMNS, name), None)
        return value

    def __len__(self) -> int:
        self._seen.setdefault((COLUMNS, "records" if isinstance(self._real, PodTable) else "index"), None)
        return len(self._real)

    def label(self, key: str) -> Any:
        """As of ``NodeTable``."""
        self._seen.setdefault((NODE, "metadata", "labels", ENTRY, key), None)
        return self._real.label(key)  # type: ignore[union-attr] # of nodes alone


class SnapshotView:
    """A ``Snapshot`` that notes its reads."""

    def __init__(self, seen: Seen, real: Snapshot) -> None:
        self.nodes = TableView(seen, real.nodes)
        self.pods = TableView(seen, real.pods)
        self.objects = ObjectsView(seen, real.objects)


class NodesView:
    """A ``NodeView`` that notes the reads of any of its nodes."""

    def __init__(self, seen: Seen, real: NodeView) -> None:
        self._seen, self._real = seen, real
        self.snapshot = SnapshotView(seen, real.snapshot)
        self.table = self.snapshot.nodes
        self.take = real.take

    __class__ = property(lambda _: NodeView)  # isinstance holds

    def __getattr__(self, name: str) -> Any:
        self._seen.setdefault((NODES,), None)
        return getattr(self._real, name)

    def __len__(self) -> int:
        self._seen.setdefault((NODES,), None)
        return len(self._real)

    def allocatable(self, resource: str, *, live: bool = False) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((ALLOCATABLE, ENTRY, resource), None)
        return self._real.allocatable(resource, live=live)

    def requested(self, resource: str, *, live: bool = False) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((REQUESTED, ENTRY, resource), None)
        return self._real.requested(resource, live=live)

    def label(self, key: str) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((NODE, "metadata", "labels", ENTRY, key), None)
        return self._real.label(key)

    def has_column(self, resource: str) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((OFFERED, resource), None)
        return self._real.has_column(resource)

    def measured(self, name: str) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((MEASURED, ENTRY, name), None)
        return self._real.measured(name)

    def infos(self) -> Iterator[Any]:
        """As of ``NodeView``."""
        seen, snapshot = self._seen, self._real.snapshot
        seen.setdefault((NODES,), None)
        for row in self._real.rows.tolist():
            yield NodeInfoView(seen, snapshot, row)

    def info(self, row: int) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((NODES,), None)
        return NodeInfoView(self._seen, self._real.snapshot, row)

    def subset(self, rows: Int32s) -> Any:
        """As of ``NodeView``."""
        self._seen.setdefault((NODES,), None)
        return NodesView(self._seen, self._real.subset(rows))
