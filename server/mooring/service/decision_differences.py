"""In what two decisions differ."""

from __future__ import annotations

from mooring.decisions.records import DecisionKind, Record
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1 import verdicts_pb2

_NOT_COMPARED = frozenset({"seq", "time", "duration", "queue_wait", "trace_id", "explained"})


def differing_fields(first: pb.Decision, second: pb.Decision) -> list[str]:
    """Return the names of the fields in which two decisions differ, but for numbers and times."""
    return [
        field.name
        for field in pb.Decision.DESCRIPTOR.fields
        if field.name not in _NOT_COMPARED and getattr(first, field.name) != getattr(second, field.name)
    ]


def differences_of(record: Record, again: Record) -> list[str]:
    """Return in what a decision that was made ``again`` differs from its record, for people."""
    kind = record.kind
    if kind is DecisionKind.SCORE:
        # It takes all nodes as feasible and selects none: there is nothing to compare.
        return []
    then, why = record.why, again.why
    pairs: dict[str, tuple[object, object]] = {"feasible": (record.feasible, again.feasible)}
    if record.details.group is None:
        pairs |= {
            "reasons": (then.reasons if then else (), why.reasons if why else ()),
            "dominant": (then.dominant if then else None, why.dominant if why else None),
        }
    else:
        pairs["message"] = then.message if then else "", why.message if why else ""
    if kind.selects:
        pairs |= {
            "node": (record.node, again.node),
            "total": (record.total, again.total),
            "ties": (record.ties, again.ties),
            "evaluated": (record.evaluated, again.evaluated),
        }
    return [f"{name}: {one}, now {other}" for name, (one, other) in pairs.items() if one != other]


def node_differences(
    first: scheduling_pb.ExplainResponse, second: scheduling_pb.ExplainResponse
) -> list[pb.NodeDifference]:
    """Return the nodes for which two explanations differ.

    The selected ones come first, then those whose totals differ most.
    """
    one, other = _by_node(first), _by_node(second)
    selected = {name for name in (_selected(first), _selected(second)) if name}
    found = []
    for name in one.keys() | other.keys():
        then, now = one.get(name), other.get(name)
        if then != now:
            found.append(_difference(name, then, now))
    return sorted(
        found,
        key=lambda node: (
            node.node not in selected,
            -abs(node.second_total - node.first_total),
            node.node,
        ),
    )


_Said = tuple[verdicts_pb2.Verdict, int | None, dict[str, int]]
"""The verdict on a node, its total and its weighted scores by plugin."""


def _by_node(explanation: scheduling_pb.ExplainResponse) -> dict[str, _Said]:
    names = _names(explanation)
    verdicts = explanation.verdicts
    codes = verdicts.node_verdicts or [0] * len(names)
    positions = {position: at for at, position in enumerate(explanation.scored_positions)}
    said: dict[str, _Said] = {}
    for position, (name, code) in enumerate(zip(names, codes, strict=True)):
        at = positions.get(position)
        scores = {} if at is None else {each.plugin: each.weighted[at] for each in explanation.plugins}
        total = None if at is None else explanation.totals[at]
        said[name] = verdicts.distinct[code], total, scores
    return said


def _difference(name: str, then: _Said | None, now: _Said | None) -> pb.NodeDifference:
    node = pb.NodeDifference(node=name)
    first, second = (then[2] if then else {}), (now[2] if now else {})
    if then is not None:
        node.first_verdict.CopyFrom(then[0])
        if then[1] is not None:
            node.first_total = then[1]
    if now is not None:
        node.second_verdict.CopyFrom(now[0])
        if now[1] is not None:
            node.second_total = now[1]
    node.scores.extend(
        pb.ScoreDifference(
            plugin=plugin, first_weighted=first.get(plugin, 0), second_weighted=second.get(plugin, 0)
        )
        for plugin in dict.fromkeys((*first, *second))
        if first.get(plugin, 0) != second.get(plugin, 0)
    )
    return node


def _names(explanation: scheduling_pb.ExplainResponse) -> list[str]:
    nodes = explanation.nodes
    if nodes.WhichOneof("nodes") == "joined_names":
        return nodes.joined_names.decode().split("\0") if nodes.joined_names else []
    return list(nodes.names.names)


def _selected(explanation: scheduling_pb.ExplainResponse) -> str:
    if not explanation.HasField("selected_position"):
        return ""
    return _names(explanation)[explanation.selected_position]
