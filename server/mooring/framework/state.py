"""The state as the engine uses it: read it, fork it, place a pod in it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from mooring.framework.cluster_events import Listener
from mooring.framework.columns import Int32s
from mooring.framework.objects import Node, Pod
from mooring.framework.view import Snapshot


class ClusterState(Protocol):
    """The tables with their one writer. All methods are safe from any thread.

    Attributes:
        lock: Held while the tables change; take it to choose and assume in one step.
        snapshot: The tables, live.
        version: Counts every change.
    """

    lock: threading.RLock
    snapshot: Snapshot
    version: int

    def find_pod(self, namespace: str, name: str) -> Pod | None:
        """The pod of that name as it is now, also one that is assumed; None when there is none."""
        ...

    def rows_changed_since(self, version: int) -> Int32s | None:
        """int32[]: the rows touched after ``version``, each once; None when the log is too short."""
        ...

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node from now on, before the cluster confirms it.

        Raises:
            KeyError: There is no such node.
        """
        ...

    def forget(self, uid: str) -> None:
        """Take back ``assume``; nothing happens when the pod isn't assumed."""
        ...

    def nominate(self, uid: str, node_name: str) -> None:
        """Count a pod without a node as one that room is made for on the node, "" = on none.

        It lasts until a source delivers the pod again: until the API server has it, too.
        """
        ...

    def discard(self, uid: str) -> None:
        """Count the pod nowhere any more. For private copies: a question about a pod that has a node
        already must not find the pod's own use of it.
        """
        ...

    def subscribe(self, listener: Listener) -> None:
        """Tell ``listener`` of every change that a source delivers from now on.

        Who needs the objects that are there already takes the lock around this and reads them. A pod is told
        of as its source has it, whatever was decided about it; a finished one is still told of.
        """
        ...

    def fork(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> ClusterState:
        """A private copy in which ``nodes`` replace those of the same name and ``pods`` are added.

        Changes to either side never show on the other.
        """
        ...
