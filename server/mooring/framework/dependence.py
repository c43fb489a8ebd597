"""What a plugin's answers depend on: lets the engine keep them for as long as they can't change."""

from __future__ import annotations

from enum import Enum, Flag, auto

import msgspec


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
