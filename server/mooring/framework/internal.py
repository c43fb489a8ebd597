"""What only the engine and the plugins in the tree say to each other; it may change with any release.

Each class is a further promise of a plugin, with which the engine saves a call or more. No answer depends on
whether it is made: a plugin that leaves all of them out is only called more often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, overload

import numpy as np
from msgspec.structs import replace

from mooring.framework.cacheable import CacheablePlugin, Part
from mooring.framework.columns import Bools, Int32s, Int64s
from mooring.framework.cycle_state import CycleState
from mooring.framework.groups import GroupPlacement, PodGroupAssignments
from mooring.framework.handle import BindOutcome
from mooring.framework.interface import Plugin
from mooring.framework.node_table import NodeTable
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Container, Object, Pod
from mooring.framework.objects.pod import ResourceRequirements
from mooring.framework.pod_affinity import AffinityTerms
from mooring.framework.view import NodeView, Snapshot

REJECTED = -1
"""In place of the total of a node that is rejected."""


class SignedBySelectors(CacheablePlugin):
    """Its answers look at those labels of the pod alone that selectors name (``selected_labels``), so that
    others make no signature.
    """

    def leaves_named_node(self, pod: Pod) -> bool:
        """Return whether all points up to Filter say the same of the ``named_node`` as if ``pod`` named
        none.
        """
        return True


class ClaimReader(SignedBySelectors):
    """It reads the pod's claims and disks, or devices that it asks for as a resource.

    No plugin that is ``SignedBySelectors`` and not this does. So the answers of the others are cached for the
    pod ``without_claims``, and this one is asked about each pod on top of them.
    """

    @abstractmethod
    def reads_claims_of(self, pod: Pod) -> bool:
        """Return whether ``pod`` has any; otherwise its answers are those for any pod without.

        Pods of equal specs have or have none alike, for as long as no ``DeviceClass`` changes.
        """

    def turned_away(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        """int32[R]: the rows of ``nodes`` that its points up to Filter reject, found in one step.

        None where these have to be called, as they do where they reject the pod, fail or give scores. What
        points after the selection read is in ``state`` then, which all plugins that are asked share.
        """
        return None


class ObjectReader(CacheablePlugin):
    """Of ``Part.OBJECTS`` it reads objects of some kinds alone."""

    @abstractmethod
    def kinds_read(self, pod: Pod) -> tuple[type[Object], ...]:
        """Return the kinds whose objects answers for ``pod`` depend on."""

    def reads_alike(self, pod: Pod) -> bool:
        """Return whether these objects say the same of all nodes.

        Nodes with equal resources then get equal answers, for as long as no such object changes, if
        ``depends_on`` says ``Part.RESOURCES | Part.OBJECTS``.
        """
        return False


class NamedNodeFilter(SignedBySelectors):
    """Its PreFilter leaves only the ``named_node`` of a pod that has one, and its Filter passes it."""


class SignedByShape(SignedBySelectors):
    """Its signature looks at no amount that the pod requests either: pods of one shape are signed once."""


class SignedByLabels(SignedByShape):
    """Its signature looks at the pod's labels, as that of no other plugin ``SignedByShape`` does, and its
    PreFilter leaves all nodes.

    What the others say is found once for pods that differ in labels, and this one is asked on top of it.
    """


class SignedByRequests(SignedBySelectors):
    """Its signature looks at what the pod requests alone, ``depends_on`` only at which resources these are.

    Pods of one shape that request the same are signed without it.
    """


class AffinityReader(CacheablePlugin):
    """Of the placed pods' terms about other pods it reads those alone that are about the pod."""

    @abstractmethod
    def concerned_by(self, pod: Pod, terms: AffinityTerms, snapshot: Snapshot) -> bool:
        """Return whether answers for ``pod`` may change when pods with ``terms`` come, go or move.

        Asked as long as nothing of ``Part.OBJECTS`` changes.
        """


class ImageReader(CacheablePlugin):
    """Of the lists of images it reads those alone that the pod's own images are in."""

    @abstractmethod
    def images_version(self, pod: Pod, nodes: NodeTable) -> Hashable:
        """Return a value that is equal as long as the same nodes have the pod's images, in the same sizes."""


class GoneNodeReader(CacheablePlugin):
    """Its answers read other nodes, and it knows whether one that goes matters to them."""

    @abstractmethod
    def misses(self, pod: Pod, nodes: NodeTable, row: int) -> bool:
        """Return whether the answers for ``pod`` about other nodes may change when the node of ``row`` goes.

        Pods with terms about others are not on it.
        """


class StatelessReserve(CacheablePlugin):
    """Its points from Reserve on read nothing that earlier ones wrote, so that the latter may be cached."""


class SkipCacheable(CacheablePlugin):
    """Its Skip depends on less than its answers do."""

    @abstractmethod
    def skip_depends_on(self, pod: Pod) -> Part:
        """Return the parts whose change may end the Skip of PreFilter or PreScore for ``pod``."""


NodeRating = Callable[[NodeView, int, Int32s], None]
"""Adds the score of each node for one pod, 0..100 times the weight, to the totals (int32[K]).

A node that is rejected has ``REJECTED`` from then on, and one that has it before keeps it.
"""


class NodeRater(ABC):
    """Says in one step what its points from PreFilter to Score say of resources.

    The plugin has these points as well, and they say the same. It is for misses, where the steps between the
    points take longer than the work.
    """

    @abstractmethod
    def rating(self, pod: Pod) -> NodeRating:
        """Return what rates nodes for ``pod``, of which it finds out once what it needs.

        Called only for pods for which ``depends_on`` says ``Part.RESOURCES``; also if it adds
        ``Part.OBJECTS``, where these are read alike (``ObjectReader``).
        """


def add_scores(scores: Int64s, rejected: Bools, weight: int, totals: Int32s) -> None:
    """Do what a ``NodeRating`` does with ``scores`` (int64[K]), and with the ``rejected`` nodes (bool[K])."""
    rejected |= totals == REJECTED
    totals += (scores * weight).astype(np.int32)
    totals[rejected] = REJECTED


class SelectiveReserve(ABC):
    """Reserves something for some pods alone. About others it is asked neither at Reserve nor before PreBind:
    it has nothing to do for them, and those of a batch are decided and reserved in one step. It says the same
    of pods that differ in who they are and in their labels alone.
    """

    @abstractmethod
    def reserves_for(self, pod: Pod) -> bool:
        """Return whether ``reserve``, or ``pre_bind``, may have anything to do for ``pod``, on any node and
        whatever else comes into the cluster.
        """

    def reserves_now(self, pod: Pod) -> bool:
        """Return whether that is so as the cluster is."""
        return self.reserves_for(pod)


class RoomCounter(ABC):
    """Rejects nodes by what pods take of them alone, so that the pods that a node takes can be counted."""

    @abstractmethod
    def count_room(self, pod: Pod, nodes: NodeView) -> Int64s | None:
        """int64[K]: how many more pods like ``pod`` each of ``nodes``, which takes one, would take.

        None where that can't be told without placing them.
        """


class KeyedSort(ABC):
    """Orders pods by a key, which is taken once, in place of comparing them again and again."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued: float) -> tuple[int, float]:
        """Return the key of ``pod``, queued then; ``less`` holds where the first has a lower one."""


class PlacesTogether(ABC):
    """Places some pods only together with the others of their group."""

    @abstractmethod
    def alone(self, pod: Pod, objects: ObjectTable) -> str:
        """Return why ``pod`` can't be placed by itself; "" when it can."""


class PlacementColumns(Sequence[GroupPlacement]):
    """Placements as stretches of one column of nodes, which is made once where they are.

    Attributes:
        rows: int32[N], the rows of the nodes of all.
        ends: int32[P], where each placement ends among them.
        fewest: How many nodes the smallest placement has.
    """

    def __init__(self, placements: Sequence[GroupPlacement]) -> None:
        self._each = tuple(placements)
        rows = [placement.rows for placement in placements]
        self.rows: Int32s = rows[0] if len(rows) == 1 else np.concatenate(rows)
        counts = [len(each) for each in rows]
        self.ends: Int32s = np.cumsum(counts, dtype=np.int32)
        self.fewest = min(counts)

    def __len__(self) -> int:
        return len(self._each)

    @overload
    def __getitem__(self, at: int) -> GroupPlacement: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[GroupPlacement]: ...

    def __getitem__(self, at: int | slice) -> GroupPlacement | Sequence[GroupPlacement]:
        return self._each[at]


class AssignedEverywhere(Sequence[PodGroupAssignments]):
    """The assignments of a group of which all pods get a node in every placement. Each is made when it is
    read, which PlacementScore in the tree doesn't do.

    Attributes:
        placements: The placements, of at least one node each.
        snapshot: The tables, without these pods.
        pods: The pods.
    """

    def __init__(
        self,
        placements: PlacementColumns,
        snapshot: Snapshot,
        pods: tuple[Pod, ...],
        node_names: Callable[[int], Sequence[str]],
    ) -> None:
        self.placements = placements
        self.snapshot = snapshot
        self.pods = pods
        self._node_names = node_names

    def __len__(self) -> int:
        return len(self.placements)

    @overload
    def __getitem__(self, at: int) -> PodGroupAssignments: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[PodGroupAssignments]: ...

    def __getitem__(self, at: int | slice) -> PodGroupAssignments | Sequence[PodGroupAssignments]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return PodGroupAssignments(self.placements[at], self.snapshot, self.pods, self._node_names(at))


BindingAnswer = BindOutcome | Callable[[], BindOutcome]
"""How a binding ended; where only further requests can tell, what makes them: it may block, and raises as
``Binder.bind`` does."""

BindingEnded = Callable[[BindingAnswer], None]
"""Told the answer to a binding. Called once, by a thread that takes the answers for all."""


class SendingBinder(ABC):
    """A ``Binder`` that can send a binding without waiting for its answer."""

    @abstractmethod
    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        """Send what ``bind`` sends, and have ``ended`` told; False = nothing was sent, so that ``bind`` has
        to.

        Raises:
            MooringError: Nothing may be sent, as while another process leads: who calls doesn't look.
        """


class SendingBind(ABC):
    """A Bind plugin that can bind without waiting, for every pod, and never skips."""

    @abstractmethod
    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        """As ``SendingBinder`` says."""


def parts_of(plugin: Plugin[Any], pod: Pod, *, skipped: bool = False) -> Part:
    """Return what the answers of ``plugin`` for ``pod`` depend on; with ``skipped``, what its Skip depends
    on.
    """
    if skipped and isinstance(plugin, SkipCacheable):
        return plugin.skip_depends_on(pod)
    return plugin.depends_on(pod) if isinstance(plugin, CacheablePlugin) else Part.ALL


def shape_of(pod: Pod) -> Pod:
    """``pod`` as if it asked for the least of each resource, and had no limits, for ``SignedByShape``."""
    spec = pod.spec
    whole = spec.resources
    return replace(
        pod,
        spec=replace(
            spec,
            containers=_least(spec.containers),
            init_containers=_least(spec.init_containers) if spec.init_containers else (),
            overhead=dict.fromkeys(spec.overhead, "1"),
            resources=None if whole is None else _least_of(whole),
        ),
    )


def may_have_claims(pod: Pod) -> bool:
    """Return whether a ``ClaimReader`` could read anything of ``pod``, whatever else is in the cluster."""
    return bool(pod.spec.resource_claims) or pod.has_storage or may_ask_for_devices(pod)


def may_ask_for_devices(pod: Pod) -> bool:
    """Return whether the pod asks for a resource that devices could stand for."""
    spec = pod.spec
    for container in (*spec.init_containers, *spec.containers):
        for name in container.resources.requests:
            if "/" in name:
                return True
    whole = () if spec.resources is None else spec.resources.requests
    return "/" in "".join((*whole, *spec.overhead))


def without_group(pod: Pod) -> Pod:
    """``pod`` as if it were in no group, for plugins that ask nothing of that but who may use its claims.

    It stays in it where it may have claims on devices.
    """
    spec = pod.spec
    if spec.scheduling_group is None or spec.resource_claims or may_ask_for_devices(pod):
        return pod
    return replace(pod, spec=replace(spec, scheduling_group=None))


def without_claims(pod: Pod) -> Pod:
    """``pod`` as if it had no claims and no disks, for plugins that are no ``ClaimReader``."""
    spec, status = pod.spec, pod.status
    if spec.volumes or spec.resource_claims:
        volumes = tuple([volume for volume in spec.volumes if not volume.is_storage])
        spec = replace(spec, volumes=volumes, resource_claims=())
    if status.resource_claim_statuses:
        status = replace(status, resource_claim_statuses=())
    return pod if spec is pod.spec and status is pod.status else replace(pod, spec=spec, status=status)


def asked_by(pod: Pod) -> tuple[object, ...]:
    """Return what ``shape_of`` leaves out of ``pod``, for ``hashable``."""
    spec = pod.spec
    before = [container.resources for container in spec.init_containers] if spec.init_containers else ()
    return [container.resources for container in spec.containers], before, spec.overhead, spec.resources


def _least(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple([replace(container, resources=_least_of(container.resources)) for container in containers])


def _least_of(resources: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(requests=dict.fromkeys(resources.requests, "1"))
