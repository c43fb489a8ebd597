"""Reuse of a plugin's answers, which a plugin may offer beside its extension points.

Pods of one workload differ in their names alone, and most of the cluster stays as it is between two of them:
the engine calls a plugin again only where its answer may have changed. Corresponds to ``SignPlugin`` in
``k8s.io/kube-scheduler/framework`` (KEP-5598), which has the signature alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from enum import Flag, auto

import msgspec

from mooring.framework.cycle_state import CycleState
from mooring.framework.objects import Pod
from mooring.framework.pod_table import PodChange


class Part(Flag):
    """Parts of the cluster on which a plugin's answer about a pod and a node may depend."""

    NODES_BUT_IMAGES = auto()
    """The node objects: labels, taints and so on, and which nodes there are."""

    IMAGES = auto()
    """The lists of images in the node objects, which change with each image that a node pulls."""

    NODES = NODES_BUT_IMAGES | IMAGES
    """The node objects as a whole."""

    RESOURCES = auto()
    """Allocatable and requested: what nodes offer, and how much of it their pods request."""

    PODS = auto()
    """Which pods are where."""

    AFFINITIES = auto()
    """The placed pods with terms about other pods, and where they are."""

    OBJECTS = auto()
    """Everything that is neither node nor pod."""

    FEASIBLE = auto()
    """For scores: which nodes are feasible."""

    OUTSIDE = auto()
    """What is not part of the cluster and changes by itself, such as measurements."""

    OTHER_NODES = auto()
    """Any of these, of other nodes than the one that the answer is about."""

    NONE = 0
    ALL = NODES | RESOURCES | PODS | AFFINITIES | OBJECTS | FEASIBLE | OUTSIDE | OTHER_NODES

    @property
    def of_one_node(self) -> bool:
        """Whether the answer about a node depends on the pod and on that node alone."""
        return Part.OTHER_NODES not in self


class CacheablePlugin(ABC):
    """A plugin whose answers, from PreEnqueue to Score, the engine may cache.

    A class inherits from it beside its extension points, ``class Rack(ScorePlugin[Args], CacheablePlugin)``.
    A plugin without it is called for every pod, and so are all others of its profile, because decisions are
    answered from the cache only where every plugin that evaluates pods allows that.

    The engine believes what is declared here. It compares one cached answer in some number with a full cycle,
    and names the plugin whose declaration was wrong; still, where in doubt return None, or ``Part.ALL``.

    What the points wrote to the CycleState is shared by pods of one signature. So a plugin that also has
    Reserve or a later point is not cached for pods of which ``depends_on`` names RESOURCES, PODS, FEASIBLE or
    OUTSIDE: these change with every decision, and the later points would read what an earlier one left.
    """

    @abstractmethod
    def signature(self, pod: Pod) -> Hashable | None:
        """Return the parts of ``pod`` that the answers depend on: pods with equal signatures get equal
        answers.

        Called once for each pod that the engine has not seen the like of, before the cycle. Don't read the
        cluster here, and return something small: it is compared and kept.
        ``pod`` comes without name, UID and times, as answers that depend on them can't be reused.

        Returns:
            Any hashable value, see ``hashable``; None = don't cache answers about this pod.
        """

    @abstractmethod
    def depends_on(self, pod: Pod) -> Part:
        """Return the parts of the cluster that the answers for ``pod`` depend on.

        The same for pods with equal signatures, and called with any one of them. It covers all points of the
        plugin, their Skip included. Name what is read, not what happens to matter today: what is not named
        may change without the plugin being called again. Naming too much costs time alone.
        """

    def update(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        """Bring what ``pre_filter`` and ``pre_score`` wrote to ``state`` up to date with ``changes``.

        Called between two decisions about pods of one signature, where ``depends_on`` says that each decision
        changes the answers. ``pre_filter`` and ``pre_score`` are called afterwards all the same, and find
        there what they wrote. Nothing else that the plugin depends on has changed.

        Returns:
            True when ``state`` is current; False, the default, to get an empty one and write it again.
        """
        return False


_encode = msgspec.msgpack.Encoder().encode


def hashable(*parts: object) -> bytes:
    """Return ``parts`` of a pod, some of them unhashable, as one value for ``CacheablePlugin.signature``."""
    return _encode(parts)
