"""The JSON documents of Kubernetes' extender/v1, as kube-scheduler writes and reads them.

None of Go's types has a JSON tag: keys are the Go field names, every field is always written, an absent value
is an explicit ``null``. Reading accepts any casing and takes ``null`` for absent; writing uses Go's spelling
and order. A body is exactly one JSON document: kube-scheduler sends nothing after it, so anything but white
space there is rejected.

Pods and nodes stay the bytes that came, or those with their keys as published. Only what the adapter needs is
decoded: node names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from mooring_extender.casing import Spelling

NULL: Final = Raw(b"null")
MAX_NODES: Final = 2**17
"""A question about more is rejected: no cluster has as many, and a few bytes for each would take seconds."""
MAX_OBJECT_BYTES: Final = 4 * 2**20
"""The largest pod or node that mooring accepts."""
MAX_FOLDED_KEYS: Final = 2**22
"""Folding this many keys takes a second; 5,000 nodes have 1.2 million."""


class MalformedBodyError(ValueError):
    """The body is not a JSON object at all. The text says what is wrong and at which byte."""


class ArgumentsError(ValueError):
    """The body is a JSON object, but not the one this verb takes. The text names the field."""


class ExtenderArgs(Struct, rename="pascal", frozen=True):
    """The question of filter and prioritize; ``nodes`` or ``node_names`` is null."""

    pod: Raw = NULL
    nodes: Raw = NULL
    node_names: Raw = NULL


class PodAlone(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """The beginning of ExtenderArgs."""

    pod: Raw = NULL


class NamesAlone(Struct, rename="pascal", frozen=True):
    """The names of a question."""

    node_names: list[str | None] | None


class NodeList(Struct, frozen=True):
    """The nodes of a question in full."""

    items: list[Raw] | None = None


class ExactNodeList(NodeList, forbid_unknown_fields=True, frozen=True):
    """NodeList with the fields that kube-scheduler sends."""

    metadata: Raw = NULL


class PodAndNodes(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """ExtenderArgs with nodes in full."""

    nodes: ExactNodeList
    pod: Raw = NULL
    node_names: None = None


class ExtenderFilterResult(Struct, rename="pascal", frozen=True):
    """The answer of filter: the nodes that stay, why the others do not, or why there is no answer."""

    nodes: Raw | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class ExtenderBindingArgs(Struct, frozen=True):
    """The order of bind."""

    pod_name: str | None = msgspec.field(default=None, name="PodName")
    pod_namespace: str | None = msgspec.field(default=None, name="PodNamespace")
    pod_uid: str | None = msgspec.field(default=None, name="PodUID")
    node: str | None = msgspec.field(default=None, name="Node")


class ExtenderBindingResult(Struct, rename="pascal", frozen=True):
    """The answer of bind: an empty error means that the pod is bound."""

    error: str = ""


class MetaPod(Struct, frozen=True):
    """A pod by its UID."""

    uid: str = msgspec.field(default="", name="UID")


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class MetaVictims(Struct, frozen=True):
    """The pods to evict from one node, by UID."""

    pods: list[MetaPod] | None = msgspec.field(default=None, name="Pods")
    num_pdb_violations: Count = msgspec.field(default=0, name="NumPDBViolations")


class Victims(Struct, frozen=True):
    """The pods to evict from one node, in full."""

    pods: list[Raw] | None = msgspec.field(default=None, name="Pods")
    num_pdb_violations: Count = msgspec.field(default=0, name="NumPDBViolations")


class ExtenderPreemptionArgs(Struct, rename="pascal", frozen=True):
    """The question of preempt. Full victims come without nodeCacheCapable, UIDs with it."""

    pod: Raw = NULL
    node_name_to_victims: dict[str, Victims] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class ExtenderPreemptionResult(Struct, rename="pascal", frozen=True):
    """The answer of preempt; there is no field for an error."""

    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class _NodeMetadata(Struct):
    name: str | None = None


class _NodeHead(Struct):
    metadata: _NodeMetadata | None = None


T = TypeVar("T", bound=Struct)


class Reader(Generic[T]):
    """Decodes one kind of document, except the objects in it. Safe to share between threads."""

    def __init__(self, kind: type[T]) -> None:
        self._spelling = Spelling(kind.__name__)
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, body: bytes) -> T:
        """Decode ``body``, whatever the casing of its keys.

        Raises:
            MalformedBodyError: no JSON, no object, or more than one document.
            ArgumentsError: a field holds the wrong type, or there is too much to fold.
        """
        text = _spelt(self._spelling, [body])[0]
        try:
            return self._decoder.decode(text)
        except msgspec.ValidationError as error:
            raise ArgumentsError(_at_field(error)) from error
        except UnicodeDecodeError as error:
            # Texts in fields that were raw until now.
            raise _malformed(error) from error


def _spelt(spelling: Spelling, texts: list[bytes]) -> list[bytes]:
    """Return objects with their keys as published."""
    try:
        exact = [spelling.is_exact(text) for text in texts]
        if all(exact):
            return texts
        keys = sum(text.count(b":") for text, as_it_is in zip(texts, exact, strict=True) if not as_it_is)
        if keys > MAX_FOLDED_KEYS:
            raise ArgumentsError(
                f"{keys} keys are not all in Go's casing; at most {MAX_FOLDED_KEYS} may be so"
            )
        return [
            text if as_it_is else spelling.fold(text) for text, as_it_is in zip(texts, exact, strict=True)
        ]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from error


_pod: Final = Spelling("Pod")
_node: Final = Spelling("Node")
_nodes: Final = Spelling("NodeList")
_node_list: Final = msgspec.json.Decoder(NodeList)
_node_head: Final = msgspec.json.Decoder(_NodeHead)
_names_alone: Final = msgspec.json.Decoder(NamesAlone)

read_names: Final = msgspec.json.Decoder(list[str]).decode
read_pod_and_nodes: Final = msgspec.json.Decoder(PodAndNodes).decode
read_pod_alone: Final = msgspec.json.Decoder(PodAlone).decode
read_extender_args: Final = Reader(ExtenderArgs).read
read_binding_args: Final = Reader(ExtenderBindingArgs).read
read_preemption_args: Final = Reader(ExtenderPreemptionArgs).read


def read_node_list(nodes: Raw) -> list[Raw] | None:
    """Split a NodeList into its items; None if there is no list. Raises ArgumentsError if ``nodes`` is not a
    NodeList.
    """
    text = present(nodes)
    if text is None:
        return None
    try:
        return limit_nodes(_node_list.decode(_objects(_nodes, [text], "Nodes")[0]).items or [])
    except msgspec.ValidationError as error:
        raise ArgumentsError(f"Nodes: {_at_field(error)}") from error


def read_name_list(names: Raw) -> list[str | None] | None:
    """Return the names of a question; None if there is no list.

    Raises:
        MalformedBodyError: a name is not UTF-8.
        ArgumentsError: ``names`` is not a list of names, or there are more than MAX_NODES.
    """
    limit_names(bytes(names))
    try:
        return _names_alone.decode(b'{"NodeNames":%s}' % bytes(names)).node_names
    except msgspec.ValidationError as error:
        raise ArgumentsError(_at_field(error)) from error
    except UnicodeDecodeError as error:
        raise _malformed(error) from error


def limit_names(body: bytes, start: int = 0) -> None:
    """Reject names that are too many before they are decoded. The body ends with a JSON array of names that
    begins at byte ``start``. Raises ArgumentsError if there are more than MAX_NODES.
    """
    # A name, two quotes and a comma.
    if len(body) - start > 3 * MAX_NODES and body.count(b",", start) >= MAX_NODES:
        raise ArgumentsError(f"NodeNames has more than {MAX_NODES} names")


def limit_nodes(items: list[Raw]) -> list[Raw]:
    """Return ``items``. ArgumentsError: there are more than MAX_NODES."""
    if len(items) > MAX_NODES:
        raise ArgumentsError(f"Nodes has {len(items)} items, more than {MAX_NODES}")
    return items


def node_names(items: list[bytes]) -> list[str | None]:
    """Find the name of each node; one without a name has None. Raises ArgumentsError if an item is not a
    node.
    """
    try:
        heads = [_node_head.decode(item) for item in items]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArgumentsError(f"Nodes: {_at_field(error)}") from error
    return [head.metadata.name if head.metadata else None for head in heads]


def joined_names(names: Sequence[str | None], field: str) -> bytes:
    """Return ``names`` as mooring.v1 takes them: UTF-8, a NUL byte between two names.

    ``field`` is where the names stand in the document, with {} for the position. A name that is null, empty
    or holds a NUL character raises ArgumentsError: no node can have it.
    """
    if all(names):
        joined = "\0".join(names).encode()  # type: ignore[arg-type]  # all() has found no None
        if joined.count(b"\0") == len(names) - 1:
            return joined
    position, name = next((i, name) for i, name in enumerate(names) if not name or "\0" in name)
    raise ArgumentsError(f"{field.format(position)}: {name!r} is not a node name")


def pod(value: Raw) -> bytes:
    """Return the JSON of a question's pod, with its keys as published. Raises MalformedBodyError or
    ArgumentsError if there is none.
    """
    text = present(value)
    if text is None:
        raise ArgumentsError("Pod is missing")
    return _objects(_pod, [text], "Pod")[0]


def victims(values: Sequence[Raw] | None) -> list[bytes]:
    """Return the JSON of victims, as ``pod`` does."""
    return _objects(_pod, list(map(bytes, values or ())), "Pods[{}]")


def nodes(items: list[Raw]) -> list[bytes]:
    """Return the JSON of nodes, as ``pod`` does."""
    return _objects(_node, list(map(bytes, items)), "Nodes.items[{}]")


def _objects(spelling: Spelling, texts: list[bytes], field: str) -> list[bytes]:
    """Return objects with their keys as published; ``field`` is their path, with {} for the position."""
    for at, text in enumerate(texts):
        if not text.startswith(b"{"):
            raise ArgumentsError(f"{field.format(at)} is not an object")
        if len(text) > MAX_OBJECT_BYTES:
            raise ArgumentsError(f"{field.format(at)} has {len(text)} bytes, more than {MAX_OBJECT_BYTES}")
    return _spelt(spelling, texts)


def present(value: Raw) -> bytes | None:
    """Return the JSON of ``value``, or None if it is null or was absent."""
    text = bytes(value)
    return None if text == b"null" else text


def _malformed(error: Exception) -> MalformedBodyError:
    if isinstance(error, RecursionError):
        return MalformedBodyError("the body is nested too deeply")
    return MalformedBodyError(f"the body is not one JSON object: {error}")


def _at_field(error: Exception) -> str:
    """Spell the decoder's complaint without its ``$`` for the root."""
    return str(error).replace("`$.", "`").replace("$.", "")
