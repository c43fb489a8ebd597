"""Generated rules: each reads some of all that a plugin can see, and what it reads next depends on that."""

# ruff: noqa: ARG001, ARG005 - what is generated has the parameters of the points, whatever it reads
from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Pure,
    ScorePlugin,
    Status,
    pods_by,
)
from mooring.framework.normalize import Normalizer
from mooring.framework.objects import Namespace, Service
from tests.laboratories.histories.pods import EXTENDED, HOST, ZONE

COUNT, FAULTY = 400, 40
"""How many rules there are, and how many more that raise under some values."""

LARGE_EVERY, LARGE = 17, 20_000
"""One rule in ``LARGE_EVERY`` gives reasons and notes of ``LARGE`` characters."""

Value = Callable[[CycleState, Pod, NodeInfo], int]
"""A rule's value for a pod and a node."""


def _number(text: str | None) -> int:
    return sum(map(ord, text)) if text else 0


def _alike(pod: Pod, node: NodeInfo) -> int:
    return sum(other.metadata.labels.get("app") == pod.metadata.labels.get("app") for other in node.pods)


IN_ZONE = pods_by(label="app", topology=ZONE)
IN_NAMESPACE = pods_by(label="version", topology="disk", own_namespace=True)

OF_NODES: tuple[Value, ...] = (
    lambda _, pod, node: IN_ZONE(pod, node),
    lambda _, pod, node: IN_NAMESPACE(pod, node),
    lambda _, pod, node: (node.measurements["load"] or 0) // 20,
    lambda _, pod, node: int(node.labels.get("weight", "0")),
    lambda _, pod, node: _number(node.labels.get("disk")),
    lambda _, pod, node: _number(node.labels.get(ZONE)),
    lambda _, pod, node: "gpu" in node.labels,
    lambda _, pod, node: len(node.labels),
    lambda _, pod, node: _number(",".join(sorted(node.labels))),
    lambda _, pod, node: len(node.taints),
    lambda _, pod, node: sum(_number(taint.key) for taint in node.taints),
    lambda _, pod, node: node.node.spec.unschedulable,
    lambda _, pod, node: len(node.annotations),
    lambda _, pod, node: _number(node.annotations.get("owner")),
    lambda _, pod, node: node.allocatable.get("cpu", 0) // 100,
    lambda _, pod, node: node.allocatable.get(EXTENDED, 3),
    lambda _, pod, node: node.cpu_millicores // 500 + node.memory_bytes // (1 << 30),
    lambda _, pod, node: len(node.allocatable),
    lambda _, pod, node: node.requested.get("memory", 0) // (200 << 20),
    lambda _, pod, node: (node.allocatable["cpu"] - node.requested["cpu"]) // 250,
    lambda _, pod, node: node.requested["pods"],
    lambda _, pod, node: sum(node.requested.values()) % 13,
    lambda _, pod, node: len(node.pods),
    lambda _, pod, node: len(node.records),
    lambda _, pod, node: _alike(pod, node),
    lambda _, pod, node: max((other.priority for other in node.pods), default=0),
    lambda _, pod, node: len(node.node.status.images),
    lambda _, pod, node: len(node.node.status.conditions),
    lambda _, pod, node: len(node.node.status.declared_features),
    lambda _, pod, node: _number(node.name),
    lambda _, pod, node: node.node.metadata.deletion_timestamp is None,
)

OF_PODS: tuple[Value, ...] = (
    lambda _, pod, node: _number(pod.metadata.labels.get("app")),
    lambda _, pod, node: _number(pod.metadata.labels.get("unheard-of")),
    lambda _, pod, node: "app" in pod.metadata.labels,
    lambda _, pod, node: len(pod.metadata.labels),
    lambda _, pod, node: _number(pod.metadata.annotations.get("rack")),
    lambda _, pod, node: _number(pod.metadata.namespace),
    lambda _, pod, node: pod.priority,
    lambda _, pod, node: len(pod.spec.tolerations),
    lambda _, pod, node: len(pod.spec.containers),
    lambda _, pod, node: sum(_number(str(each.resources.requests)) for each in pod.spec.containers),
    lambda _, pod, node: sum(port.host_port for each in pod.spec.containers for port in each.ports),
    lambda _, pod, node: pod.spec.affinity is None,
    lambda _, pod, node: bool(pod.spec.affinity and pod.spec.affinity.node_affinity),
    lambda _, pod, node: _number(pod.spec.node_selector.get("disk")),
    lambda _, pod, node: len(pod.spec.volumes),
    lambda _, pod, node: pod.has_storage,
    lambda _, pod, node: len(pod.spec.topology_spread_constraints),
    lambda _, pod, node: pod.group is None,
    lambda _, pod, node: pod.metadata.controller is None,
    lambda _, pod, node: len(pod.spec.overhead),
    lambda _, pod, node: isinstance(pod, Pod),
)

OF_STATE: tuple[Value, ...] = (
    lambda state, pod, node: state.read("counts", dict).get(node.labels.get(ZONE), 0),
    lambda state, pod, node: len(state.read("counts", dict)),
    lambda state, pod, node: dict(state.read("pairs", tuple)).get(node.labels.get(HOST), 0),
    lambda state, pod, node: state.read("level", int),
    lambda state, pod, node: state.get("never written", int) or 0,
)


def _value(dice: Random, atoms: Sequence[Value], depth: int) -> Value:
    """Work out something by up to 2**depth reads; which ones depends on the values before."""
    if depth == 0 or dice.random() < 0.2:
        return dice.choice(atoms)
    first, second, third = (_value(dice, atoms, depth - 1) for _ in range(3))
    step = dice.choice((2, 3, 5))
    forms: Sequence[Value] = (
        lambda state, pod, node: (second if first(state, pod, node) % step else third)(state, pod, node),
        lambda state, pod, node: first(state, pod, node) + step * second(state, pod, node),
        lambda state, pod, node: max(first(state, pod, node), second(state, pod, node)),
        lambda state, pod, node: first(state, pod, node) and second(state, pod, node),
    )
    return dice.choice(forms)


def _worked_out(dice: Random, atoms: Sequence[Value], number: int) -> Value:
    value = _value(dice, atoms, 3)
    return value if number < COUNT else _raising(value)


def _raising(value: Value) -> Value:
    """Raise for some values, like a rule that expects something of each node."""

    def raises(state: CycleState, pod: Pod, node: NodeInfo) -> int:
        found = value(state, pod, node)
        if found % 11 == 4:
            raise KeyError(f"{node.name} has {found}")
        return found

    return raises


def _counted(dice: Random, padding: str) -> Callable[[CycleState, Pod, NodeView], PreFilterResult | Status]:
    """Write what ``OF_STATE`` reads, in one of the ways in which people count."""
    key, kind = dice.choice((ZONE, HOST, "disk")), dice.choice((Namespace, Service))
    skips, narrows, wide, loops = (dice.random() < part for part in (0.2, 0.1, 0.5, 0.7))

    def pre_filter(state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        counts: dict[str | None, int] = {}
        for node in nodes.infos() if loops else ():
            place = node.labels.get(key)
            counts[place] = counts.get(place, 0) + (_alike(pod, node) if wide else node.requested["pods"])
        objects = nodes.snapshot.objects
        state.write("counts", counts)
        state.write("pairs", tuple(sorted((str(place) + padding, count) for place, count in counts.items())))
        state.write("level", len(objects.all(kind)) + len(objects.namespace_labels(pod.metadata.namespace)))
        if skips and not pod.metadata.labels.get("app"):
            return Status.skip()
        if narrows:
            return PreFilterResult(frozenset(sorted(nodes.names)[: max(len(nodes) // 2, 1)]))
        return SUCCESS

    return pre_filter


def _filtered(dice: Random, value: Value, padding: str) -> Callable[..., Status]:
    step, told = dice.choice((3, 4, 7)), dice.random() < 0.2
    reject = dice.choice((Status.unschedulable, Status.unresolvable))

    def filter_(_: object, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        found = value(state, pod, node) % step
        if found != 1:
            return SUCCESS
        return reject(f"{node.name} is odd{padding}" if told else f"node(s) were odd by {found}{padding}")

    return filter_


def rule(number: int) -> type[Plugin[Any]]:
    """Return the rule of that number."""
    dice = Random(number)
    padding = "" if number % LARGE_EVERY else "." * LARGE
    counts = dice.random() < 0.3
    atoms = (*OF_NODES, *OF_PODS, *(OF_STATE * 4 if counts else ()))
    some = dice.sample(atoms, dice.randint(2, 8))
    filters, scores = dice.choice(((True, True), (True, False), (False, True)))
    bases: list[Any] = []
    body: dict[str, Any] = {"name": f"Rule{number}", "__doc__": "A generated rule."}
    if counts:
        pre_filter = _counted(dice, padding)
        bases.append(PreFilterPlugin)
        body["pre_filter"] = lambda _, state, pod, nodes: pre_filter(state, pod, nodes)
    if filters:
        bases.append(FilterPlugin)
        body["filter"] = _filtered(dice, _worked_out(dice, some, number), padding)
    if scores:
        _add_scoring(dice, bases, body, _worked_out(dice, some, number))
    if not counts or filters:
        return type(f"Rule{number}", (*bases, Pure), body)
    body["filter"] = lambda *_: SUCCESS
    return type(f"Rule{number}", (*bases, FilterPlugin, Pure), body)


def _add_scoring(dice: Random, bases: list[Any], body: dict[str, Any], value: Value) -> None:
    bases.append(ScorePlugin)
    body["score"] = lambda _, state, pod, node: int(value(state, pod, node)) % 101
    match dice.choice(("plain", "plain", "stretched", "own", "feasible")):
        case "stretched":
            body["normalizer"] = dice.choice(tuple(Normalizer))
        case "own":

            def normalize_score(_: object, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
                return np.where(scores == scores.min(initial=100), 0, 100 // (1 + len(scores)))

            body["normalize_score"] = normalize_score
        case "feasible":
            bases.append(PreScorePlugin)

            def pre_score(_: object, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
                state.write("feasible", len(nodes))
                return SUCCESS

            body["pre_score"] = pre_score
            body["score"] = lambda _, state, pod, node: (
                int(value(state, pod, node) + state.read("feasible", int)) % 101
            )


RULES: tuple[type[Plugin[Any]], ...] = tuple(rule(number) for number in range(COUNT))
"""Those that never raise."""

FAULTY_RULES: tuple[type[Plugin[Any]], ...] = tuple(rule(number) for number in range(COUNT, COUNT + FAULTY))
