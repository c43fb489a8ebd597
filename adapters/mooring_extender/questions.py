"""The arguments of filter and prioritize, read from their documents.

kube-scheduler calls the extender for one pod after the other. The nodes that it names are often those of an
earlier call: prioritize names exactly the nodes that filter has answered. If a document ends with the very
bytes of a list that was read or answered before, the list is not read again.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec
from msgspec import Raw

from mooring_extender import wire
from mooring_extender.names import BEFORE_NAMES, Names

_AFTER_NODES: Final = b',"NodeNames":null}'
_REMEMBERED: Final = 4
REMEMBERED_BYTES: Final = 2 * 2**20
"""A longer list is read again each time. 5,000 names take 0.2 MB."""


class Question(msgspec.Struct, frozen=True):
    """One pod, at least one node.

    ``items`` is None if nodes came by name; otherwise it holds their JSON, parallel to ``names``.
    """

    pod: bytes
    names: Names
    items: list[bytes] | None = None


class Questions:
    """Reads questions. Safe to share between threads."""

    def __init__(self) -> None:
        self._recent: deque[Names] = deque(maxlen=_REMEMBERED)

    def read(self, body: bytes) -> Question:
        """Read the body of a filter or prioritize call.

        Raises:
            MalformedBodyError: it is not JSON object.
            ArgumentsError: no pod, not exactly one node list, no node, or an invalid node name; a string
                that no node can have as its name may be found only once the names are evaluated.
        """
        for names in tuple(self._recent):
            if body.endswith(names.ending):
                pod = _pod_before(body, len(body) - len(names.ending))
                if pod is not None:
                    return Question(pod, names)
        asked = _in_full(body) if body.endswith(_AFTER_NODES) else self._split(body)
        if asked is None:
            asked = question(wire.read_extender_args(body))
        return asked

    def remember(self, names: Names) -> None:
        """Expect a call with exactly these names, spelt as in ``names.array``; a long list is not kept."""
        if len(names.array) > REMEMBERED_BYTES:
            return
        if names.array not in [known.array for known in tuple(self._recent)]:
            self._recent.append(names)

    def _split(self, body: bytes) -> Question | None:
        """Read a body that is written as Go writes it and asks about names; None leaves it to others."""
        at = body.find(BEFORE_NAMES)
        if at < 0 or not body.endswith(b"}"):
            return None
        wire.limit_names(body, at + len(BEFORE_NAMES))
        array = body[at + len(BEFORE_NAMES) : -1]
        try:
            listed = wire.read_names(array)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        pod = _pod_before(body, at)
        if pod is None or not listed:
            return None
        names = Names(listed, array)
        self.remember(names)
        return Question(pod, names)


def question(args: wire.ExtenderArgs) -> Question:
    """Check the arguments of filter or prioritize. An empty list counts as absent if the other one is there.
    Raises ArgumentsError if there is no pod, no node, not exactly one list of nodes, or an invalid name.
    """
    pod, items, names = (
        wire.pod(args.pod),
        wire.read_node_list(args.nodes),
        wire.read_name_list(args.node_names),
    )
    if items and names:
        raise wire.ArgumentsError("exactly one of Nodes and NodeNames must be set, both are")
    if items is None and names is None:
        raise wire.ArgumentsError("exactly one of Nodes and NodeNames must be set, none is")
    return _about_nodes(pod, items) if items else _about(pod, names or [], None, "NodeNames[{}]")


def _in_full(body: bytes) -> Question | None:
    """Read a body with nodes in full in one pass; None leaves it to others."""
    try:
        args = wire.read_pod_and_nodes(body)
        return _about_nodes(wire.pod(args.pod), wire.limit_nodes(args.nodes.items or []))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _about_nodes(pod: bytes, items: list[Raw]) -> Question:
    nodes = wire.nodes(items)
    return _about(pod, wire.node_names(nodes), nodes, "Nodes.items[{}].metadata.name")


def _about(pod: bytes, given: list[str | None], items: list[bytes] | None, field: str) -> Question:
    if not given:
        raise wire.ArgumentsError("the node list is empty: there is nothing to decide")
    wire.joined_names(given, field)
    listed = [name for name in given if name is not None]
    return Question(pod, Names(listed, msgspec.json.encode(listed)), items)


def _pod_before(body: bytes, end: int) -> bytes | None:
    """Return the pod of a document that begins with body[:end], if it has no other field there, else None.

    With the document's end in its place a valid object stays one, because something stands before it.
    """
    try:
        return wire.pod(wire.read_pod_alone(body[:end] + b"}").pod)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        wire.ArgumentsError,
        wire.MalformedBodyError,
    ):
        return None
