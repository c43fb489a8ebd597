"""The dependencies of a plugin's answers, so that the engine may cache these.

Pods of one workload differ in their names alone, and most of the cluster stays as it is between two of them:
the engine calls a plugin again only if its answer may have changed. Corresponds to ``SignPlugin`` in
``k8s.io/kube-scheduler/framework`` (KEP-5598), which has the signature alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from enum import Flag, auto

import msgspec

from mooring.framework.cycle_state import CycleState
from mooring.framework.objects import Object, Pod
from mooring.framework.pod_counter import PodCounter
from mooring.framework.pod_table import PodChange


class Part(Flag):
    """Parts of the cluster on which a plugin's answer about a pod and a node may depend."""

    NODES_BUT_IMAGES = auto()
    """The node objects: names, labels, taints and so on, and which nodes there are."""

    IMAGES = auto()
    """The lists of images in the node objects, which change with each image that a node pulls."""

    NODES = NODES_BUT_IMAGES | IMAGES
    """The node objects as a whole."""

    RESOURCES = auto()
    """Allocatable and requested: what nodes offer, and how much of it their pods request."""

    PODS = auto()
    """Which pods are where."""

    TERMS_ABOUT_POD = auto()
    """The placed pods with terms about other pods that match this pod, and where they are."""

    OTHER_TERMS = auto()
    """The placed pods with terms about other pods that don't match this pod, and where they are."""

    AFFINITIES = TERMS_ABOUT_POD | OTHER_TERMS
    """The placed pods with terms about other pods, and where they are."""

    OBJECTS = auto()
    """Everything that is neither node nor pod; ``Dependencies.kinds`` may name the kinds."""

    FEASIBLE = auto()
    """For scores: which nodes are feasible."""

    OUTSIDE = auto()
    """Data that the state doesn't have and that changes by itself. Measured values are ``OBJECTS``."""

    OTHER_NODES = auto()
    """Any of these, of other nodes than the one that the answer is about."""

    NONE = 0
    ALL = NODES | RESOURCES | PODS | AFFINITIES | OBJECTS | FEASIBLE | OUTSIDE | OTHER_NODES

    @property
    def of_one_node(self) -> bool:
        """Whether the answer about a node depends on the pod and on that node alone."""
        return Part.OTHER_NODES not in self


class Aspect(Flag):
    """Aspects of a pod in which pods of one workload may differ.

    A plugin may always read the rest of a pod, such as its annotations, tolerations and ports.
    """

    SELECTED_LABELS = auto()
    """Labels whose keys a selector in force names: of a placed pod, a service, a controller, or its own."""

    OTHER_LABELS = auto()
    """Labels that no selector names, such as the index of a StatefulSet's pod."""

    LABELS = SELECTED_LABELS | OTHER_LABELS
    """All labels."""

    AMOUNTS = auto()
    """How much it requests of each resource, and its limits. The signature alone reads these."""

    CLAIMS = auto()
    """Its claims, disks and devices, and the group whose claims it may use."""

    NODE_NAME = auto()
    """The only node that its required node affinity leaves, as for a pod of a DaemonSet."""

    GROUP = auto()
    """Which group it belongs to."""

    NONE = 0
    ALL = LABELS | AMOUNTS | CLAIMS | NODE_NAME | GROUP


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of a plugin's answers about a pod, at all its points up to Score.

    The defaults are safe: without a signature nothing is cached, and the whole cluster counts as read.

    Attributes:
        signature: The values that are read of the pod: pods with equal signatures get equal answers. Any
            hashable value, see ``hashable``; it is compared and kept, so make it small. None = don't cache
            answers about this pod.
        parts: The parts of the cluster that are read. Name every part that is read, not only those that
            matter today: other parts may change without the plugin being called again. Naming too much costs
            time alone.
        kinds: The kinds of objects that are read of ``Part.OBJECTS``; None = any.
        images: The names of the images that are looked for in ``Part.IMAGES``; None = any.
        skip_parts: The parts whose change may end a Skip of PreFilter or PreScore; None = ``parts``.
        rejects: Whether PreEnqueue, PreFilter or Filter may reject the pod on any node.
        only_node: The only node that PreFilter leaves to the pod, if the answers are otherwise those about a
            pod that names no node; "" otherwise. It may not depend on which node that is.
        counters: The counters that are read, if nothing else is read of other nodes.
        seen_so_far: Whether ``parts`` are those that the plugin was seen to read. On other nodes, and with
            other pods there, it may read more.
        written_is_read: Whether points from Reserve on read what the points up to Score wrote to the
            CycleState. It is shared by pods of one signature, so if they do, no answer is cached that each
            decision changes.
    """

    signature: Hashable | None = None
    parts: Part = Part.ALL
    kinds: tuple[type[Object], ...] | None = None
    images: tuple[str, ...] | None = None
    skip_parts: Part | None = None
    rejects: bool = True
    only_node: str = ""
    counters: tuple[PodCounter, ...] = ()
    seen_so_far: bool = False
    written_is_read: bool = True

    @property
    def possible_parts(self) -> Part:
        """The parts that may be read of any node, whatever pods are on it."""
        return Part.ALL if self.seen_so_far else self.parts

    @property
    def parts_of_skip(self) -> Part:
        """The parts whose change may end a Skip."""
        return self.parts if self.skip_parts is None else self.skip_parts


class CacheablePlugin(ABC):
    """A plugin whose answers, from PreEnqueue to Score, the engine may cache.

    A class inherits from it besides its extension points, ``class Rack(ScorePlugin[Args], CacheablePlugin)``.
    A plugin without it is called for every pod, and so are all others of its profile, because decisions are
    answered from the cache only if every plugin that evaluates pods allows that.

    The engine believes what is declared here. It compares one cached answer in some number with a full cycle,
    and names the plugin whose declaration was wrong.

    Attributes:
        aspects: The aspects of pods that ``dependencies`` reads. It returns the same for pods that differ in
            other aspects alone, and is then called once for all of them. The engine needs it before it reads
            a pod, so it is one value for all pods. With the default, all aspects, ``dependencies`` is called
            for each pod that differs from earlier ones.
        labels: The keys of further labels that it reads.
    """

    aspects: Aspect = Aspect.ALL
    labels: frozenset[str] = frozenset()

    @abstractmethod
    def dependencies(self, pod: Pod) -> Dependencies:
        """Return the dependencies of the answers about ``pod``.

        Called before the cycle, and once for many pods that are alike. Pods with equal signatures have equal
        dependencies. ``pod`` comes without name, UID and times, as answers that depend on them can't be
        reused, and without the aspects that this plugin doesn't read. Don't read the cluster here.
        """

    def update(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        """Bring what ``pre_filter`` and ``pre_score`` wrote to ``state`` up to date with ``changes``.

        Called between two decisions about pods of one signature, if each decision changes the answers by
        their ``parts``. ``pre_filter`` and ``pre_score`` are called afterwards all the same, and find there
        what they wrote. Nothing else that the plugin depends on has changed.

        Returns:
            True when ``state`` is current; False, the default, to get an empty one and write it again.
        """
        return False


class _NotCacheable(CacheablePlugin):
    aspects = Aspect.NONE
    _dependencies = Dependencies()

    def dependencies(self, pod: Pod) -> Dependencies:
        return self._dependencies


_NOT_CACHEABLE = _NotCacheable()


def as_cacheable(plugin: object) -> CacheablePlugin:
    """Return ``plugin``; for one that declares nothing, a plugin whose answers are never cached."""
    return plugin if isinstance(plugin, CacheablePlugin) else _NOT_CACHEABLE


def dependencies_of(plugin: object, pod: Pod) -> Dependencies:
    """Return what the answers of ``plugin`` about ``pod`` depend on; everything if it declares nothing."""
    return as_cacheable(plugin).dependencies(pod)


_encode = msgspec.msgpack.Encoder().encode


def hashable(*parts: object) -> bytes:
    """Return ``parts`` of a pod, some of them unhashable, as one value for ``Dependencies.signature``."""
    return _encode(parts)
