"""The bodies of an extender's calls. Mirrors ``k8s.io/kube-scheduler/extender/v1/types.go``.

Go writes its fields by these names, the empty ones too, and reads them in any casing; null is the empty
value. Kubernetes' own objects travel as the API server wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, field

from mooring.framework import Pod
from mooring.runtime.profiles.extender import FilterAnswer, MetaVictims

REASON_CHARACTERS = 1_024
"""The most bytes of a reason or an error: they go into conditions, Events and the log."""

MOST_VALUES = 1 << 22
"""JSON values in an answer: two bytes of it become an object of fifty."""

_INT64 = range(-(2**63), 2**63)


class AnswerError(ValueError):
    """An answer that does not have the type of its verb."""


class _NodeList(msgspec.Struct):
    items: list[Raw]
    metadata: dict[str, str] = {}


class _ExtenderArgs(msgspec.Struct):
    pod: Raw = field(name="Pod")
    nodes: _NodeList | None = field(name="Nodes")
    node_names: list[str] | None = field(name="NodeNames")


class _BindingArgs(msgspec.Struct):
    pod_name: str = field(name="PodName")
    pod_namespace: str = field(name="PodNamespace")
    pod_uid: str = field(name="PodUID")
    node: str = field(name="Node")


class _MetaPod(msgspec.Struct):
    uid: str = field(name="UID")


class _Victims(msgspec.Struct):
    pods: list[Raw] | list[_MetaPod] = field(name="Pods")
    violations: int = field(name="NumPDBViolations")


class _PreemptionArgs(msgspec.Struct):
    pod: Raw = field(name="Pod")
    victims: dict[str, _Victims] | None = field(name="NodeNameToVictims")
    meta_victims: dict[str, _Victims] | None = field(name="NodeNameToMetaVictims")


_encode = msgspec.json.Encoder().encode


def asking_by_name(pod: bytes, node_names: Sequence[str]) -> bytes:
    """Return the body of filter and prioritize for an extender that knows the nodes; ``pod`` is JSON."""
    return _encode(_ExtenderArgs(Raw(pod), None, list(node_names)))


def asking_by_node(pod: bytes, nodes: Sequence[bytes]) -> bytes:
    """Return the same with the nodes themselves, in JSON."""
    return _encode(_ExtenderArgs(Raw(pod), _NodeList([Raw(node) for node in nodes]), None))


def binding(pod: Pod, node_name: str) -> bytes:
    """Return the body of bind."""
    meta = pod.metadata
    return _encode(_BindingArgs(meta.name, meta.namespace, meta.uid, node_name))


def preempting_by_uid(pod: bytes, victims: Mapping[str, MetaVictims]) -> bytes:
    """Return the body of preempt for an extender that knows the pods."""
    named = {
        node: _Victims([_MetaPod(uid) for uid in found.uids], found.violations)
        for node, found in victims.items()
    }
    return _encode(_PreemptionArgs(Raw(pod), None, named))


def preempting_by_pod(pod: bytes, victims: Mapping[str, tuple[Sequence[bytes], int]]) -> bytes:
    """Return the same with the victims as JSON, and how many a disruption budget protects."""
    whole = {node: _Victims([Raw(one) for one in pods], count) for node, (pods, count) in victims.items()}
    return _encode(_PreemptionArgs(Raw(pod), whole, None))


def read_filter(body: bytes, *, by_name: bool) -> tuple[FilterAnswer, str]:
    """Return the answer to filter, and the error in it, "" without one. With ``by_name`` the nodes were sent
    by name: names count, and whole nodes only without names. Raises AnswerError if it is of another type.
    """
    answer = _members(_document(body), "")
    names = _list(answer.get("nodenames"), "NodeNames")
    nodes = _list(_members(answer.get("nodes"), "Nodes").get("items"), "Nodes.items")
    said = [_text(name, "NodeNames") for name in names or ()]
    if not by_name or names is None:
        said = [_name(node) for node in nodes or ()]
    failed = _texts(answer.get("failednodes"), "FailedNodes")
    unresolvable = _texts(answer.get("failedandunresolvablenodes"), "FailedAndUnresolvableNodes")
    return FilterAnswer(said, failed, unresolvable), _reason(answer.get("error"), "Error")


def read_scores(body: bytes) -> list[tuple[str, int]]:
    """Return the answer to prioritize: node and score. Raises AnswerError if it is of another type."""
    entries = [_members(entry, "the list") for entry in _list(_document(body), "") or ()]
    return [(_text(entry.get("host"), "Host"), _integer(entry.get("score"), "Score")) for entry in entries]


def read_binding(body: bytes) -> str:
    """Return the error in the answer to bind; "" without one. Raises AnswerError if it is of another type."""
    return _reason(_members(_document(body), "").get("error"), "Error")


def read_victims(body: bytes) -> dict[str, MetaVictims]:
    """Return the answer to preempt. Raises AnswerError if it is of another type."""
    path = "NodeNameToMetaVictims"
    answer = _members(_document(body), "").get(path.lower())
    found = {}
    for node, value in _map(answer, path).items():
        victims = _members(value, path)
        pods = [_members(pod, "Pods") for pod in _list(victims.get("pods"), "Pods") or ()]
        violations = _integer(victims.get("numpdbviolations"), "NumPDBViolations")
        found[node] = MetaVictims([_text(pod.get("uid"), "UID") for pod in pods], violations)
    return found


def _name(node: Any) -> str:
    metadata = _members(_members(node, "Nodes.items").get("metadata"), "metadata")
    return _text(metadata.get("name"), "metadata.name")


def _document(body: bytes) -> Any:
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise AnswerError(f"the answer has more than {MOST_VALUES} values")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerError(f"the answer is not JSON: {error}" if body else "the answer is empty") from None


def _members(value: Any, path: str) -> dict[str, Any]:
    """Return the fields of a struct, by their names in lower case; the last one of a name counts."""
    return {name.lower(): member for name, member in _map(value, path).items()}


def _map(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AnswerError(f"{path or 'the answer'} must be an object")
    return value


def _list(value: Any, path: str) -> list[Any] | None:
    if value is not None and not isinstance(value, list):
        raise AnswerError(f"{path or 'the answer'} must be a list")
    return value


def _texts(value: Any, path: str) -> dict[str, str]:
    return {name: _reason(text, path) for name, text in _map(value, path).items()}


def _reason(value: Any, path: str) -> str:
    text = _text(value, path)
    return text if len(text) <= REASON_CHARACTERS else f"{text[: REASON_CHARACTERS - 4]} ..."


def _text(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AnswerError(f"{path} must be a string")
    return value


def _integer(value: Any, path: str) -> int:
    if value is None:
        return 0
    if type(value) is not int or value not in _INT64:
        raise AnswerError(f"{path} must be a whole number of 64 bits")
    return value
