"""What a plugin's answers depend on: lets the engine keep them for as long as they can't change."""

from __future__ import annotations

from enum import Enum, Flag, auto

import msgspec
from msgspec.structs import replace

from mooring.framework.objects import Pod
from mooring.framework.objects.pod import ResourceRequirements


class Scope(Enum):
    """Of which nodes a plugin's answer for one node tells."""

    NODE = "node"
    """The pod and that node's own record: only changed nodes need a new answer."""

    CLUSTER = "cluster"
    """Anything: every change needs new answers everywhere."""


class Part(Flag):
    """A part of the cluster. What a plugin doesn't depend on may change without asking it again."""

    NODES = auto()
    """The node objects: labels, taints, images and so on, and which nodes there are."""

    AMOUNTS = auto()
    """What nodes offer, and how much of it their pods take."""

    PODS = auto()
    """Which pods are where."""

    AFFINITIES = auto()
    """The placed pods with terms about other pods, and where they are."""

    OBJECTS = auto()
    """Everything that is neither node nor pod."""

    FEASIBLE = auto()
    """For scores: which nodes passed Filter."""

    OUTSIDE = auto()
    """What is no part of the cluster and changes by itself, such as measurements."""

    NONE = 0
    ALL = NODES | AMOUNTS | PODS | AFFINITIES | OBJECTS | FEASIBLE | OUTSIDE


_encode = msgspec.msgpack.Encoder().encode


def signature(*parts: object) -> bytes:
    """``parts`` of a pod, of which some can't be hashed, as one value for ``Plugin.sign``."""
    return _encode(parts)


_NOTHING = ResourceRequirements()


def without_requests(pod: Pod) -> Pod:
    """``pod`` as if it asked for no resources and had no limits, see ``Plugin.signs_requests``."""
    spec = pod.spec
    containers = tuple([replace(container, resources=_NOTHING) for container in spec.containers])
    first = tuple([replace(container, resources=_NOTHING) for container in spec.init_containers])
    return replace(
        pod, spec=replace(spec, containers=containers, init_containers=first, overhead={}, resources=None)
    )
