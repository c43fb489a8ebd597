"""The JSON documents of Kubernetes' extender/v1, as kube-scheduler writes and reads them.

None of Go's types has a JSON tag: keys are the Go field names, every field is always written, an absent value
is an explicit `null`. Reading accepts any casing and takes `null` for absent; writing uses Go's spelling and
order. A body is exactly one JSON document: kube-scheduler sends nothing after it, so anything but white
space there is rejected.

Pods and nodes stay the bytes that came. Only what the adapter needs is decoded: node names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from mooring_extender import casing

NULL: Final = Raw(b"null")
MAX_FOLDED_BYTES: Final = 256 * 2**10
MAX_NODES: Final = 2**17
"""A question about more is rejected: no cluster has as many, and a few bytes for each would take seconds."""


class MalformedBodyError(ValueError):
    """The body is not a JSON object at all. The text says what is wrong and at which byte."""


class ArgumentsError(ValueError):
    """The body is a JSON object, but not the one this verb takes. The text names the field."""


# forbid_unknown_fields makes the typed decoder stop at a key in another casing, which is the only cheap way
# to notice one; the folding pass then decodes leniently.
class ExtenderArgs(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """The question of filter and prioritize. One of `nodes` and `node_names` is null, by nodeCacheCapable."""

    pod: Raw = NULL
    nodes: Raw = NULL
    node_names: list[str | None] | None = None


class PodAlone(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """The beginning of ExtenderArgs."""

    pod: Raw = NULL


class NamesAlone(Struct, rename="pascal", frozen=True):
    """The names of a question, undecoded."""

    node_names: Raw = NULL


class NodeList(Struct, frozen=True):
    """The nodes of a question in full."""

    items: list[Raw] | None = None


class PodAndNodes(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """ExtenderArgs with nodes in full."""

    nodes: NodeList
    pod: Raw = NULL
    node_names: None = None


class ExtenderFilterResult(Struct, rename="pascal", frozen=True):
    """The answer of filter: the nodes that stay, why the others do not, or why there is no answer."""

    nodes: Raw | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class ExtenderBindingArgs(Struct, forbid_unknown_fields=True, frozen=True):
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


class ExtenderPreemptionArgs(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
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
    """Decodes one kind of document. Safe to share between threads."""

    def __init__(self, kind: type[T], schema: casing.Struct) -> None:
        self._schema = schema
        self._exact = msgspec.json.Decoder(kind)
        self._names = frozenset(field.encode_name for field in msgspec.structs.fields(kind))

    def read(self, body: bytes) -> T:
        """Decode `body`, whatever the casing of its keys.

        A document whose outermost keys are exact is taken to be exact all through. In any other one every
        key is folded, which takes up to a second per 8 MiB: those above 256 KiB are rejected.

        Raises:
            MalformedBodyError: no JSON, no object, or more than one document.
            ArgumentsError: a field holds the wrong type, or the document is too large to fold.
        """
        try:
            return self._exact.decode(body)
        except msgspec.ValidationError:
            return self._read_leniently(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _malformed(error) from error

    def _read_leniently(self, body: bytes) -> T:
        try:
            known = self._known_fields(_outermost.decode(body), len(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _malformed(error) from error
        try:
            return self._exact.decode(msgspec.json.encode(known))
        except msgspec.ValidationError as error:
            raise ArgumentsError(_at_field(error)) from error
        except UnicodeDecodeError as error:
            # Texts in fields that were raw until now.
            raise _malformed(error) from error

    def _known_fields(self, document: dict[str, Raw], size: int) -> dict[str, Any]:
        """Return the fields that Go's type has, by their exact names."""
        known = [
            (key, name, schema, value)
            for key, value in document.items()
            for name, schema in (self._schema.field(key),)
            if name in self._names
        ]
        if all(key == name for key, name, _, _ in known):
            return {name: value for _, name, _, value in known}
        if size > MAX_FOLDED_BYTES:
            raise ArgumentsError(
                f"the keys are not in Go's casing; such a document may have {MAX_FOLDED_BYTES} bytes,"
                f" this one has {size}"
            )
        return {name: casing.fold(_generic.decode(value), schema) for _, name, schema, value in known}


def _keep_number(text: str) -> Raw:
    """Keep a number as it is spelt, so that folding never rounds one."""
    return Raw(text.encode())


_generic: Final = msgspec.json.Decoder(float_hook=_keep_number)
_outermost: Final = msgspec.json.Decoder(dict[str, Raw])
_node_list: Final = msgspec.json.Decoder(NodeList)
_node_head: Final = msgspec.json.Decoder(_NodeHead)

read_names: Final = msgspec.json.Decoder(list[str]).decode
read_pod_and_nodes: Final = msgspec.json.Decoder(PodAndNodes).decode
_names_alone: Final = msgspec.json.Decoder(NamesAlone)
read_pod_alone: Final = msgspec.json.Decoder(PodAlone).decode
read_extender_args: Final = Reader(ExtenderArgs, casing.EXTENDER_ARGS).read
read_binding_args: Final = Reader(ExtenderBindingArgs, casing.EXTENDER_BINDING_ARGS).read
read_preemption_args: Final = Reader(ExtenderPreemptionArgs, casing.EXTENDER_PREEMPTION_ARGS).read


def read_node_list(nodes: Raw) -> list[Raw]:
    """Split a NodeList into the JSON of each node.

    Raises:
        ArgumentsError: `nodes` is not a NodeList.
    """
    try:
        return limit_nodes(_node_list.decode(nodes).items or [])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArgumentsError(f"Nodes: {_at_field(error)}") from error


def limit_names(body: bytes, start: int = 0) -> None:
    """Reject names that are too many before they are decoded.

    Args:
        body: what ends with a JSON array of names.
        start: where the array begins, in bytes.

    Raises:
        ArgumentsError: there are more than MAX_NODES.
    """
    # A name, two quotes and a comma.
    if len(body) - start > 3 * MAX_NODES and body.count(b",", start) >= MAX_NODES:
        raise ArgumentsError(f"NodeNames has more than {MAX_NODES} names")


def limit_names_anywhere(body: bytes) -> None:
    """Do what `limit_names` does for a body that is not written as Go writes it."""
    if len(body) > 3 * MAX_NODES:
        # What can't be read is told by who reads all of it.
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            limit_names(bytes(_names_alone.decode(body).node_names))


def limit_nodes(items: list[Raw]) -> list[Raw]:
    """Return `items`. ArgumentsError: there are more than MAX_NODES."""
    if len(items) > MAX_NODES:
        raise ArgumentsError(f"Nodes has {len(items)} items, more than {MAX_NODES}")
    return items


def node_names(items: list[Raw]) -> list[str | None]:
    """Find the name of each node; one without a name has None.

    Raises:
        ArgumentsError: an item is null or no node.
    """
    try:
        heads = [_node_head.decode(item) for item in items]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArgumentsError(f"Nodes: {_at_field(error)}") from error
    return [head.metadata.name if head.metadata else None for head in heads]


def joined_names(names: Sequence[str | None], field: str) -> bytes:
    """Return `names` as mooring.v1 takes them: UTF-8, a NUL byte between two names.

    `field` is where the names stand in the document, with {} for the position. A name that is null, empty or
    holds a NUL character raises ArgumentsError: no node can have it.
    """
    if all(names):
        joined = "\0".join(names).encode()  # type: ignore[arg-type]  # all() has found no None
        if joined.count(b"\0") == len(names) - 1:
            return joined
    position, name = next((i, name) for i, name in enumerate(names) if not name or "\0" in name)
    raise ArgumentsError(f"{field.format(position)}: {name!r} is not a node name")


def pod(value: Raw) -> bytes:
    """Return the JSON of a question's pod.

    Raises:
        ArgumentsError: there is none.
    """
    text = present(value)
    if text is None:
        raise ArgumentsError("Pod is missing")
    if not text.startswith(b"{"):
        raise ArgumentsError("Pod is not an object")
    return text


def present(value: Raw) -> bytes | None:
    """Return the JSON that `value` holds, or None where it is null or was absent."""
    text = bytes(value)
    return None if text == b"null" else text


def _malformed(error: Exception) -> MalformedBodyError:
    if isinstance(error, RecursionError):
        return MalformedBodyError("the body is nested too deeply")
    return MalformedBodyError(f"the body is not one JSON object: {error}")


def _at_field(error: Exception) -> str:
    """Spell the decoder's complaint without its `$` for the root."""
    return str(error).replace("`$.", "`").replace("$.", "")
