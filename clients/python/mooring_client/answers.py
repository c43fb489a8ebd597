"""Answers about many nodes, their columns unpacked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mooring_client.v1.scheduling_service_pb2 import ExplainResponse, FilterResponse, ScoreResponse
from mooring_client.v1.verdicts_pb2 import VERDICT_CODE_SUCCESS, NodeVerdicts, PluginScores, Verdict


@dataclass(frozen=True, slots=True)
class Filtered:
    """On which nodes a pod may run.

    Attributes:
        verdict: On the pod: success if at least one node is feasible.
        nodes: On each node, by name.
    """

    verdict: Verdict
    nodes: Mapping[str, Verdict]


@dataclass(frozen=True, slots=True)
class Scored:
    """The totals of a pod.

    Attributes:
        nodes: By the node's name, without nodes that the server does not know.
        weight_sum: 100 times this is the highest total possible.
    """

    nodes: Mapping[str, int]
    weight_sum: int


@dataclass(frozen=True, slots=True)
class PluginScore:
    """A plugin's score of a node.

    Attributes:
        raw: As Score returned it.
        normalized: 0 to 100.
        weighted: ``normalized`` times the plugin's weight.
    """

    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """What was found out about a node.

    Attributes:
        verdict: Whether the pod may run there.
        total: Its total score; None if it was not scored.
        scores: The scores that make the total, by the plugin's name.
    """

    verdict: Verdict
    total: int | None
    scores: Mapping[str, PluginScore]


@dataclass(frozen=True, slots=True)
class Explained:
    """A whole scheduling cycle.

    Attributes:
        verdict: On the pod.
        node: The selected node's name; "" = none.
        nodes: All nodes, by name.
        response: The message, which has more.
    """

    verdict: Verdict
    node: str
    nodes: Mapping[str, ExplainedNode]
    response: ExplainResponse


def filtered(names: Sequence[str], response: FilterResponse) -> Filtered:
    """Return the verdicts on the nodes of these names, in the order of the answer."""
    return Filtered(response.verdict, dict(zip(names, _each(names, response.verdicts), strict=True)))


def scored(names: Sequence[str], response: ScoreResponse) -> Scored:
    """Return the totals of the nodes of these names, in the order of the answer."""
    rows = zip(names, _each(names, response.verdicts), response.totals, strict=True)
    known = {name: total for name, verdict, total in rows if verdict.code == VERDICT_CODE_SUCCESS}
    return Scored(known, response.weight_sum)


def explained(names: Sequence[str], response: ExplainResponse) -> Explained:
    """Return the cycle over the nodes of these names, in the order of the answer."""
    totals = dict(zip(response.scored_positions, response.totals, strict=True))
    scores = _scores(response.scored_positions, response.plugins)
    rows = enumerate(zip(names, _each(names, response.verdicts), strict=True))
    nodes = {
        name: ExplainedNode(verdict, totals.get(position), scores.get(position, {}))
        for position, (name, verdict) in rows
    }
    node = names[response.selected_position] if response.HasField("selected_position") else ""
    return Explained(response.verdict, node, nodes, response)


def _each(names: Sequence[str], verdicts: NodeVerdicts) -> list[Verdict]:
    """Return one verdict a node. No numbers at all stand for success everywhere."""
    distinct = list(verdicts.distinct) or [Verdict(code=VERDICT_CODE_SUCCESS)]
    return [distinct[number] for number in verdicts.node_verdicts or [0] * len(names)]


def _scores(positions: Sequence[int], plugins: Iterable[PluginScores]) -> dict[int, dict[str, PluginScore]]:
    found: dict[int, dict[str, PluginScore]] = {position: {} for position in positions}
    for plugin in plugins:
        for position, *row in zip(positions, plugin.raw, plugin.normalized, plugin.weighted, strict=True):
            found[position][plugin.plugin] = PluginScore(*row)
    return found
