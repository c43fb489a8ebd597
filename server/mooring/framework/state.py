"""The state as the engine uses it: read it, fork it, place a pod in it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from mooring.framework.cluster_events import Listener
from mooring.framework.objects import Node, Object, Pod
from mooring.framework.pod_table import PodKind, PodRecord
from mooring.framework.view import Snapshot

RowChange = tuple[int, PodRecord | None, int]
"""One change: the row, ``UNPLACED`` if it touches none; the pod; and what happened to the pod.

The pod came (1), left (-1) or changed otherwise (0). A pending pod that gets its node only comes, unless it
was nominated. A pod with new labels leaves (``-RELABELLED``) and comes (``RELABELLED``) on its row. Without a
pod, the row's node changed (0), or on no row some other object. ``UNREAD`` = only the resource version of a
node, a service or a controller of pods changed; ``IMAGES_ALONE`` = only that and the images of a node."""

RELABELLED = 2
"""A pod whose amounts on its row are unchanged."""

UNREAD, IMAGES_ALONE = 1, 2


class ClusterState(Protocol):
    """The tables with their one writer. All methods are safe from any thread.

    Attributes:
        lock: Held while the tables change; take it to select and assume in one step.
        snapshot: The tables, live.
        version: Counts every change.
    """

    lock: threading.RLock
    snapshot: Snapshot
    version: int

    def find_pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod of that name as it is now, also one that is assumed; None when there is none."""
        ...

    def pod_uids(self, namespace: str) -> Mapping[str, str]:
        """Return the UIDs of the pods in the namespace by name, live; the caller holds the lock. Pods that no
        source has delivered are not there.
        """
        ...

    def changes_since(self, version: int) -> Sequence[RowChange] | None:
        """Return what changed after ``version``, one entry per version; None when the log does not reach back
        so far.
        """
        ...

    def kind_of(self, pod: Pod, *, remember: bool = True) -> PodKind:
        """Return the kind of ``pod``, for ``assume`` of all pods that differ from it only in name and UID.

        Without ``remember`` the kind is not stored: for pods that are only evaluated.
        """
        ...

    def kind_like(self, template: Pod, kind: PodKind) -> PodKind:
        """Return the kind of pods with the labels of ``kind``, whose ``bare_template_of`` is ``template``: no
        more can differ than where they may go.
        """
        ...

    def kind_labelled(self, kind: PodKind, labels: Mapping[str, str]) -> PodKind:
        """Return the kind of pods that differ from those of ``kind`` only in their labels."""
        ...

    def assume(self, pod: Pod, node_name: str, kind: PodKind | None = None) -> None:
        """Count ``pod`` on the node from now on, before the cluster confirms it.

        ``kind`` is what it counts as, when the caller has that already.

        Raises:
            KeyError: There is no such node.
        """
        ...

    def assume_alike(
        self, pod: Pod, kind: PodKind, names: Sequence[str], uids: Sequence[str], rows: Sequence[int]
    ) -> None:
        """``assume`` of pods that differ from ``pod`` only in name and UID, in their order and in one step.

        None of the UIDs is that of a pod that counts on a node, and every row has one.
        """
        ...

    def forget(self, uid: str) -> None:
        """Take back ``assume``; nothing happens when the pod isn't assumed."""
        ...

    def assume_object(self, item: Any) -> None:
        """Show ``item``, of a kind in the object table, as it was decided to be.

        Without a ``resource_version`` it was not written yet and stays until ``forget_object``; with one,
        which the API server gave it, until a source delivers that version or a newer one. It ends with the
        object.
        """
        ...

    def forget_object(self, kind: type[Object], name: str, namespace: str = "") -> None:
        """Take back ``assume_object``; nothing happens when nothing is assumed of the object."""
        ...

    def nominate(self, uid: str, node_name: str) -> None:
        """Count a pod without a node as one that room is made for on the node, "" = on none.

        It lasts until a source delivers the pod again: until the API server has it, too.
        """
        ...

    def discard(self, uid: str) -> None:
        """Stop counting the pod. For private copies: a question about a pod that has a node
        already must not find the pod's own use of it.
        """
        ...

    def subscribe(self, listener: Listener) -> None:
        """Notify ``listener`` of every change that a source delivers from now on.

        To get the present objects, too, hold the lock around this call and read them. A pod is reported
        as its source has it, whatever was decided about it; so is a finished one.
        """
        ...

    def fork(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> ClusterState:
        """Return a private copy in which ``nodes`` replace those of the same name and ``pods`` are added.

        Changes to either side never show on the other.
        """
        ...
