"""Changes that would make a pod fit, by mooring, judged by kube-scheduler's own code.

    python -m tests.laboratories.conformance.changes.run --seed 7 --count 2000

Plays random scenarios until ``--count`` pods have no node. With the changes of each answer kube-scheduler
has to take the pod, and each pod that moves; with every set of changes that costs less it must not.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.framework.errors import PluginFailureError
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.change.search import ChangeSearch
from mooring.sessions.change.steps import (
    AddNode,
    ChangeOption,
    Cost,
    LowerRequest,
    Move,
    NeededChanges,
    Relabel,
    Tolerate,
)
from mooring.sessions.removal import adopted
from tests.laboratories.conformance.changes.domain import (
    Plan,
    lacked,
    made,
    node_of,
    plans,
    renamed,
    taints_of,
    uid_of,
)
from tests.laboratories.conformance.changes.generator import scenario as draw
from tests.laboratories.conformance.changes.playing import UNSCHEDULABLE, TooManyError, play
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST, Oracle

MOST_ASKED = 4_000
"""Questions about one scenario; beyond, it is counted as too large to be tried in full."""


class Judge:
    """Judges by kube-scheduler's own code.

    Args:
        oracle: Asks it.
        scenario: The scenario.
        requested: The pod's requests, by resource.

    Attributes:
        asked: The number of questions.
    """

    def __init__(self, oracle: Oracle, scenario: Manifest, requested: Mapping[str, int]) -> None:
        self.asked = 0
        self._oracle = oracle
        self._scenario = scenario
        self._requested = requested

    def feasible(self, scenario: Manifest) -> set[str]:
        """Return the nodes that take the pod."""
        self.asked += 1
        if self.asked > MOST_ASKED:
            raise TooManyError
        answer = self._oracle.ask(scenario)
        if "error" in answer:
            return set()
        nodes = answer["document"]["nodes"]
        return {name for name, node in nodes.items() if node["status"]["code"] == "Success"}

    def does(self, plan: Plan, landings: Mapping[str, str] | None = None) -> bool:
        """Return whether the pod fits with these changes, and each pod that moves fits on some node, or on
        its given one.
        """
        changed = made(self._scenario, plan)
        if plan.target not in self.feasible(changed):
            return False
        return not plan.moved or self._land(changed, plan, landings)

    def _land(self, changed: Manifest, plan: Plan, landings: Mapping[str, str] | None) -> bool:
        changed["objects"].append(_on(changed["pod"], plan.target))
        there = {uid_of(each): each for each in self._scenario["objects"]}
        ordered = sorted(
            (there[uid] for uid in plan.moved), key=lambda pod: -(pod["spec"].get("priority") or 0)
        )
        return self._land_all(changed, ordered, landings)

    def _land_all(self, changed: Manifest, pods: list[Manifest], landings: Mapping[str, str] | None) -> bool:
        if not pods:
            return True
        first, *rest = pods
        again = {**first, "spec": {key: value for key, value in first["spec"].items() if key != "nodeName"}}
        again.pop("status", None)
        nodes = self.feasible({**changed, "pod": again}) - {first["spec"]["nodeName"]}
        if landings is not None:
            nodes &= {landings[uid_of(first)]}
        return any(
            self._land_all({**changed, "objects": [*changed["objects"], _on(again, node)]}, rest, landings)
            for node in sorted(nodes)
        )

    def cheaper(self, cost: Cost) -> Plan | None:
        """Return a set of changes that costs less and does; None if there is none."""
        tolerations = cost.changes - sum(cost[1:5])
        bound = (*cost[1:5], tolerations)
        for changes in range(cost.changes + 1):
            for counts in _counts(changes):
                if changes == cost.changes and counts >= bound:
                    continue
                for plan in plans(self._scenario, list(self._requested), counts):
                    if self.does(plan):
                        return plan
        return self._less_given_up(cost, bound) if cost.requests else None

    def _less_given_up(self, cost: Cost, bound: tuple[int, ...]) -> Plan | None:
        """Return one of the same kinds that gives up less of the requests."""
        for plan in plans(self._scenario, list(self._requested), bound):  # type: ignore[arg-type]
            if not self.does(plan):
                continue
            amounts = dict(plan.requests)
            for name in amounts:
                fits, too_much = 0, self._requested[name] + 1
                while too_much - fits > 1:
                    middle = (fits + too_much) // 2
                    tried = tuple({**amounts, name: middle}.items())
                    fits, too_much = (middle, too_much) if self.does(_with(plan, tried)) else (fits, middle)
                amounts[name] = fits
            share = sum(1 - amount / self._requested[name] for name, amount in amounts.items())
            if share < cost.share - 1e-9:
                return _with(plan, tuple(amounts.items()))
        return None


def _with(plan: Plan, requests: tuple[tuple[str, int], ...]) -> Plan:
    return Plan(plan.node, plan.new, plan.taints, plan.labels, requests, plan.moved)


def _counts(changes: int) -> Iterator[tuple[int, int, int, int, int]]:
    for counts in itertools.product(range(2), range(4), *[range(changes + 1)] * 3):
        if sum(counts) == changes:
            yield counts  # type: ignore[misc]


def _on(pod: Manifest, node: str) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}}


def answer_of(scenario: Manifest, version: str = NEWEST) -> tuple[NeededChanges, dict[str, int]]:
    """mooring's answer, and what the pod requests."""
    options = EngineOptions(kube_version=version, feature_gates=scenario["feature_gates"] or {})
    core = _core(options)
    manifests = objects_from(scenario["objects"], options.gates)
    core.state.replace("manifests", manifests.objects)
    pod = pod_from_manifest(scenario["pod"], manifests.objects, options.gates)
    work = LiveState(core, options).work()
    profile = work.engine.profile("", pod)
    search = ChangeSearch(work, pod, profile, partial(adopted, work.engine, ""), progress=NoDeadline())
    requested = {name: amount for name, amount in work.tree.kind_of(pod).usage.requests if amount}
    return search.run(), requested


_REGISTRY = registry_of(EngineOptions())


def _core(options: EngineOptions) -> Core:
    return build_core(options, _REGISTRY, configuration_of(options, _REGISTRY))


def plan_of(scenario: Manifest, option: ChangeOption) -> tuple[Plan, dict[str, str]]:
    """Return an option as changes of manifests, and where the pods go that move."""
    fields: dict[str, Any] = {"node": option.node_name}
    steps = option.steps
    new = [step for step in steps if isinstance(step, AddNode)]
    if new:
        fields |= {"node": new[0].like, "new": True}
    taints = [
        (each["key"], each.get("value", ""), each["effect"])
        for each in taints_of(node_of(scenario, fields["node"]))
    ]
    fields["taints"] = tuple(
        taints.index((step.taint.key, step.taint.value, step.taint.effect))
        for step in steps
        if isinstance(step, Tolerate)
    )
    fields["labels"] = tuple((step.key, step.value) for step in steps if isinstance(step, Relabel))
    fields["requests"] = tuple(
        (step.resource, step.amount) for step in steps if isinstance(step, LowerRequest)
    )
    landings = {step.pod.metadata.uid: step.node_name for step in steps if isinstance(step, Move)}
    return Plan(moved=tuple(landings), **fields), landings


def _allowed(scenario: Manifest, plan: Plan) -> bool:
    """Return whether the labels that are changed are those that the node lacks for one of the pod's terms."""
    node = node_of(scenario, plan.node)
    keys, sets = {key for key, _ in plan.labels}, lacked(scenario["pod"], renamed(node) if plan.new else node)
    return not keys or (keys in sets and set() not in sets)


def judged(scenario: Manifest, oracle: Oracle, tally: Counter[str]) -> str:
    """Return the fault of the answer about a scenario; "" = none."""
    first = oracle.ask(scenario)
    if "error" in first:
        tally["rejected by the API server's rules"] += 1
        return ""
    try:
        found, requested = answer_of(scenario)
    except PluginFailureError as error:
        tally["a plugin fails"] += 1
        failed = first["document"]["status"]["code"] == "Error"
        return "" if failed else f"kube-scheduler doesn't fail: {error}"
    judge = Judge(oracle, scenario, requested)
    if judge.feasible(scenario):
        tally["schedulable"] += 1
        return "" if found.status.ok else "kube-scheduler takes the pod as it is"
    tally[UNSCHEDULABLE] += 1
    for option in found.options:
        plan, landings = plan_of(scenario, option)
        tally["options"] += 1
        if not _allowed(scenario, plan):
            return f"with {plan} a label is changed that the node doesn't lack"
        if not judge.does(plan, landings):
            return f"with {plan} and {landings} kube-scheduler doesn't take the pod"
    tally["without an answer"] += not found.options
    tally["incomplete"] += not found.complete
    cost = found.options[0].cost if found.options else Cost(4)
    tally[f"cheapest has {cost.changes} changes" if found.options else "none"] += 1
    try:
        cheaper = judge.cheaper(cost)
    except TooManyError:
        tally["too many to try in full"] += 1
        return ""
    finally:
        tally["asked"] += judge.asked
    return f"{cheaper} costs less than {found.options[:1]}" if cheaper is not None else ""


if __name__ == "__main__":
    sys.exit(play(__doc__, "unschedulable pods", 2000, draw, judged))
