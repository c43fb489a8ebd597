"""What the search for victims found on each node, for pods like those before them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from mooring.framework import Code, Pod, Snapshot, Status
from mooring.framework.preemption import Candidate, RejectedNodes

Outcome = Candidate | Status
"""The victims on a node, or why it is no candidate."""

_MAX_BYTES = 64 << 20
"""When the outcomes take more bytes than this, by the estimates below, all are forgotten."""

_VICTIM_BYTES, _OUTCOME_BYTES = 1 << 10, 1 << 8

_encode = msgspec.msgpack.Encoder().encode


class Outcomes:
    """Outcomes by what the pod says, beside its name, and by node. Safe from any thread.

    An outcome is true for as long as neither the node, its pods and the pods nominated for it change
    (``NodeTable.row_version``), nor any object beside nodes and pods.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], dict[str, tuple[int, Outcome]]] = {}
        self._bytes = 0

    def of(self, pod: Pod, nodes: RejectedNodes) -> KnownOutcomes:
        """Return those for ``pod``; none, and none to come, where an outcome may change by itself."""
        if not nodes.lasting:
            return KnownOutcomes(self, nodes.snapshot, None)
        meta, objects = pod.metadata, nodes.snapshot.objects.kinds
        like = replace(meta, name="", uid="", resource_version="", creation_timestamp=None)
        newest = max((kind.version for kind in tuple(objects.values())), default=0)
        key = _encode((like, pod.spec, pod.status)), newest
        by_node = self._known.get(key)
        if by_node is None:
            by_node = self._known[key] = {}
        return KnownOutcomes(self, nodes.snapshot, by_node)

    def count(self, outcome: Outcome) -> None:
        """Make room for one more."""
        victims = len(outcome.victims) if isinstance(outcome, Candidate) else 0
        self._bytes += _OUTCOME_BYTES + victims * _VICTIM_BYTES
        if self._bytes > _MAX_BYTES:
            self._known.clear()
            self._bytes = 0


class KnownOutcomes:
    """The outcomes for one pod. For one search, before which it is made.

    Args:
        owner: Where the others are.
        snapshot: The tables.
        by_node: With the version of the node's row when it was looked at; None = none is kept.
    """

    def __init__(
        self, owner: Outcomes, snapshot: Snapshot, by_node: dict[str, tuple[int, Outcome]] | None
    ) -> None:
        self._owner = owner
        self._snapshot = snapshot
        self._by_node = by_node
        self._index: Mapping[str, int] = snapshot.nodes.index
        # A copy: what the search looks at may be older than what the table says by then, but never than this.
        self._versions = snapshot.nodes.row_version.copy().data

    def find(self, node_name: str) -> Outcome | None:
        """Return the outcome on the node; None when the search has to be made."""
        if self._by_node is None:
            return None
        known = self._by_node.get(node_name)
        return known[1] if known is not None and known[0] == self._version(node_name) else None

    def keep(self, node_name: str, outcome: Outcome) -> None:
        """Keep what the search found."""
        version = self._version(node_name)
        if self._by_node is None or version is None or not self._stays(node_name, outcome):
            return
        self._owner.count(outcome)
        self._by_node[node_name] = version, outcome

    def _version(self, node_name: str) -> int | None:
        """Return the version of the node's row; None of one that came later."""
        row = self._index.get(node_name)
        return None if row is None or row >= len(self._versions) else self._versions[row]

    def _stays(self, node_name: str, outcome: Outcome) -> bool:
        """Return whether the outcome is the same later: failures may end, and where only some pods have
        started, who started first is a matter of the clock.
        """
        if isinstance(outcome, Status):
            return outcome.code is not Code.ERROR
        row = self._index.get(node_name, -1)
        records = self._snapshot.pods.records_on(row)
        return len({record.start_time is None for record in records}) < 2
