"""Rules in a host and the same rules in process: the host's answers are compared with Python's."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Normalizer,
    Pod,
    ScorePlugin,
    Status,
    Verdicts,
    pods_by,
)
from mooring.framework.pod_requests import pod_usage
from mooring_client.plugin_host.hosting import HostedPlugin, Unresolvable, Value, Values
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from tests.laboratories.histories.pods import EXTENDED, ZONE
from tests.plugin_hosts.hosts import Hosted
from tests.plugin_hosts.rules import PAIRS

IN_ZONE = pods_by(label="app", topology=ZONE)

COLUMNS: Mapping[str, Callable[[Pod, NodeInfo], Value]] = {
    "metadata.name": lambda _, node: node.name,
    "metadata.labels[disk]": lambda _, node: node.labels.get("disk"),
    f"metadata.labels[{ZONE}]": lambda _, node: node.labels.get(ZONE),
    "metadata.labels[weight]": lambda _, node: node.labels.get("weight"),
    "metadata.annotations[owner]": lambda _, node: node.annotations.get("owner"),
    "spec.unschedulable": lambda _, node: str(node.node.spec.unschedulable).lower(),
    "spec.taints": lambda _, node: msgspec.json.encode(node.taints).decode(),
    "allocatable[cpu]": lambda _, node: node.allocatable.get("cpu", 0),
    f"allocatable[{EXTENDED}]": lambda _, node: node.allocatable.get(EXTENDED, 0),
    "requested[memory]": lambda _, node: node.requested.get("memory", 0),
    "requested[pods]": lambda _, node: node.requested.get("pods", 0),
    "measured[load]": lambda _, node: node.measurements["load"],
    f"counted[app by {ZONE}]": IN_ZONE,
}

FIELDS: Mapping[str, Callable[[Pod], Value]] = {
    "metadata.labels[app]": lambda pod: pod.metadata.labels.get("app"),
    "metadata.annotations[rack]": lambda pod: pod.metadata.annotations.get("rack"),
    "metadata.namespace": lambda pod: pod.metadata.namespace,
    "spec.priority": lambda pod: pod.spec.priority,
    "spec.tolerations": lambda pod: msgspec.json.encode(pod.spec.tolerations).decode(),
    "spec.nodeSelector[disk]": lambda pod: pod.spec.node_selector.get("disk"),
    "requests[cpu]": lambda pod: pod_usage(pod).request("cpu"),
}

_NORMALIZERS = (
    (None, pb.NORMALIZER_UNSPECIFIED),
    (Normalizer.BY_MAX, pb.NORMALIZER_BY_MAX),
    (Normalizer.BY_MAX_REVERSED, pb.NORMALIZER_BY_MAX_REVERSED),
    (Normalizer.BY_MIN_MAX, pb.NORMALIZER_BY_MIN_MAX),
)


def _mixed(pod: Sequence[Value], node: Sequence[Value], salt: str) -> int:
    return zlib.crc32(repr((pod, node, salt)).encode())


def _why(mixed: int) -> str | None:
    if mixed % 5 == 1:
        return Unresolvable(f"node(s) were odd by {mixed % 3}") if mixed % 2 else f"odd by {mixed % 3}"
    return None


def generated(number: int) -> tuple[type[Any], type[HostedPlugin]]:
    """Return a rule, in process and hosted, whose answers depend on every value that it reads."""
    dice = Random(number)
    columns = dice.sample(sorted(COLUMNS), dice.randint(0, 4))
    fields = dice.sample(sorted(FIELDS), dice.randint(0, 3))
    filters, scores = dice.choice(((True, True), (True, False), (False, True)))
    own, wire = dice.choice(_NORMALIZERS) if scores else _NORMALIZERS[0]
    name = f"Generated{number}"

    def values(pod: Pod, node: NodeInfo) -> tuple[list[Value], list[Value]]:
        return [FIELDS[each](pod) for each in fields], [COLUMNS[each](pod, node) for each in columns]

    def filter_(_: Any, _state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        why = _why(_mixed(*values(pod, node), "filter"))
        if why is None:
            return SUCCESS
        return Status.unresolvable(str(why)) if isinstance(why, Unresolvable) else Status.unschedulable(why)

    def hosted_values(pod: Values, node: Values) -> tuple[list[Value], list[Value]]:
        return [pod[each] for each in fields], [node[each] for each in columns]

    plain: dict[str, Any] = {"name": name, "normalizer": own}
    hosted: dict[str, Any] = {
        "name": name,
        "pod_fields": tuple(fields),
        "node_columns": tuple(columns),
        "normalizer": wire,
    }
    bases: list[Any] = []
    if filters:
        bases.append(FilterPlugin)
        plain["filter"] = filter_
        hosted["filter"] = lambda _, pod, node: _why(_mixed(*hosted_values(pod, node), "filter"))
    if scores:
        bases.append(ScorePlugin)
        plain["score"] = lambda _, _state, pod, node: _mixed(*values(pod, node), "score") % 101
        hosted["score"] = lambda _, pod, node: _mixed(*hosted_values(pod, node), "score") % 101
    return type(name, tuple(bases), plain), type(name, (HostedPlugin,), hosted)


GENERATED = {f"Generated{number}": generated(number) for number in range(60)}
EVERY = {**PAIRS, **GENERATED}
"""By name, the rule in process and in a host."""


compared: Counter[str] = Counter()
"""How often each rule took part in an evaluation in full, with which an answer of its host is compared."""


def twin(host: Hosted, name: str) -> type[Any]:
    """Return the class that calls the host; if answers are computed again, it is the Python rule."""
    plain = EVERY[name][0]
    body: dict[str, Any] = {}
    if issubclass(plain, FilterPlugin):

        def filter_nodes(self: Any, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
            compared[name] += 1
            rule = plain(None, self.handle)
            return FilterPlugin.filter_nodes(rule, state, pod, nodes)

        body["filter_nodes"] = filter_nodes
    if issubclass(plain, ScorePlugin):

        def score_nodes(self: Any, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
            compared[name] += not issubclass(plain, FilterPlugin)
            rule = plain(None, self.handle)
            return ScorePlugin.score_nodes(rule, state, pod, nodes)

        body["score_nodes"] = score_nodes
    return type(f"Twin{name}", (host.rule(name),), body)
