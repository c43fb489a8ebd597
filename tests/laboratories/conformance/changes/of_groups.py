"""Changes that would make a pod group fit, by mooring, judged by kube-scheduler's own code.

    python -m tests.laboratories.conformance.changes.of_groups --seed 7 --count 500

Plays random scenarios until ``--count`` groups fit nowhere. With the changes of each answer kube-scheduler's
group cycle has to schedule the group; with every set of fewer changes, and with every one that is milder, it
must not. Results that depend on the choice between nodes of equal totals are left to chance.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import objects_from
from mooring.framework import PodGroupInfo
from mooring.runtime.commit.asked_group import known_group, pods_of_group
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.change.group_search import GroupChangeSearch
from mooring.sessions.change.steps import (
    AddNode,
    ChangeOption,
    Cost,
    LowerRequest,
    NeededChanges,
    Relabel,
    Tolerate,
)
from mooring.sessions.work_trees import Work
from tests.laboratories.conformance.changes.domain import (
    HOSTNAME,
    counted,
    node_of,
    nodes_of,
    request,
    taints_of,
)
from tests.laboratories.conformance.changes.groups_generator import GATES, scenario
from tests.laboratories.conformance.changes.playing import UNSCHEDULABLE, TooManyError, play
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import Oracle

MOST_ASKED = 3_000
"""Questions about one scenario; beyond, it is counted as too large to be tried in full."""
TIMES = 4
"""The number of questions to kube-scheduler about a set that should not be enough."""

Taint = tuple[str, str, str]
Label = tuple[str, str]


@dataclass(frozen=True)
class Plan:
    """A set of changes.

    Attributes:
        taints: Those that all pods tolerate.
        requests: The largest request of a pod for each resource, CPU in thousandths.
        labels: The labels that nodes get: node, key and value.
        like: The node that new ones are like.
        new: How many.
        own: The labels that they get.
    """

    taints: tuple[Taint, ...] = ()
    requests: tuple[tuple[str, int], ...] = ()
    labels: tuple[tuple[str, str, str], ...] = ()
    like: str = ""
    new: int = 0
    own: tuple[Label, ...] = ()


def pods_of(scenario: Manifest) -> list[Manifest]:
    return [each for each in scenario["rounds"][0] if each["kind"] == "Pod"]


def requested(pod: Manifest, resource: str) -> int:
    return counted(pod["spec"]["containers"][0]["resources"]["requests"].get(resource, "0"), resource)


def made(scenario: Manifest, plan: Plan) -> Manifest:
    """Return the scenario with these changes: written apart from the search that it judges."""
    changed = copy.deepcopy(scenario)
    for pod in pods_of(changed):
        for key, value, effect in plan.taints:
            pod["spec"].setdefault("tolerations", []).append(
                {"key": key, "operator": "Equal", "value": value, "effect": effect}
            )
        for resource, amount in plan.requests:
            if requested(pod, resource) > amount:
                request(pod, resource, amount)
    for at in range(plan.new):
        node = copy.deepcopy(node_of(changed, plan.like))
        name = f"new-{at}"
        node["metadata"] |= {"name": name, "uid": name}
        node["metadata"]["labels"] |= {HOSTNAME: name, **dict(plan.own)}
        node["spec"].pop("unschedulable", None)
        changed["objects"].append(node)
    for name, key, value in plan.labels:
        node_of(changed, name)["metadata"]["labels"][key] = value
    return changed


def plans(scenario: Manifest, counts: tuple[int, int, int, int]) -> Iterator[Plan]:
    """Yield all sets with these counts of new nodes, requests for nothing, labels and tolerations."""
    new, requests, labels, tolerations = counts
    nodes = nodes_of(scenario)
    taints = {
        (each["key"], each.get("value", ""), each["effect"]) for node in nodes for each in taints_of(node)
    }
    resources = list(pods_of(scenario)[0]["spec"]["containers"][0]["resources"]["requests"])
    wanted = list(pods_of(scenario)[0]["spec"].get("nodeSelector", {}).items())
    lacking = [
        (node["metadata"]["name"], *label)
        for node in nodes
        for label in wanted
        if node["metadata"]["labels"].get(label[0]) != label[1]
    ]
    own: Sequence[tuple[Label, ...]] = [(), *([(label,) for label in wanted] if new else [])]
    for mine in own:
        if len(mine) * new > labels:
            continue
        for borne, lowered, relabelled, like in itertools.product(
            itertools.combinations(sorted(taints), tolerations),
            itertools.combinations([(resource, 0) for resource in resources], requests),
            itertools.combinations(lacking, labels - len(mine) * new),
            [node["metadata"]["name"] for node in nodes] if new else [""],
        ):
            yield Plan(borne, lowered, relabelled, like, new, mine)


class Judge:
    """Asks kube-scheduler's own code."""

    def __init__(self, oracle: Oracle, scenario: Manifest) -> None:
        self.asked = 0
        self._oracle = oracle
        self._scenario = scenario

    def does(self, plan: Plan, times: int = 1) -> bool:
        """Return whether the group is scheduled with these changes, each time."""
        changed = made(self._scenario, plan)
        return all(self._scheduled(changed) for _ in range(times))

    def _scheduled(self, scenario: Manifest) -> bool:
        self.asked += 1
        if self.asked > MOST_ASKED:
            raise TooManyError
        answer = self._oracle.ask(scenario)
        (decided,) = answer["groups"]
        return (decided["condition"] or {}).get("status") == "True"

    def cheaper(self, cost: Cost) -> Plan | None:
        """Return a set of changes that costs less and does; None if there is none."""
        bound = (cost.nodes, cost.requests, cost.labels)
        for changes in range(1, cost.changes + 1):
            for some in itertools.product(range(changes + 1), range(3), range(changes + 1)):
                if sum(some) > changes or (changes == cost.changes and some >= bound):
                    continue
                for plan in plans(self._scenario, (*some, changes - sum(some))):
                    if self.does(plan, TIMES):
                        return plan
        return self._less_given_up(cost) if cost.requests == 1 else None

    def _less_given_up(self, cost: Cost) -> Plan | None:
        """Return one of the same kinds that gives up less of its request."""
        tolerations = cost.changes - cost.nodes - cost.requests - cost.labels
        for plan in plans(self._scenario, (cost.nodes, cost.requests, cost.labels, tolerations)):
            ((name, _),) = plan.requests
            most = max(requested(pod, name) for pod in pods_of(self._scenario))
            # One unit more than the answer, or a thousandth: a step that matters.
            amount = round(most * (1 - cost.share)) + max(1, most // 1000)
            tried = replace(plan, requests=((name, amount),))
            if most and amount < most and self.does(tried, TIMES):
                return tried
        return None


def _asked(scenario: Manifest) -> tuple[Work, PodGroupInfo, Profile]:
    """Return the scenario as a work tree, its group, and the profile."""
    options = EngineOptions(feature_gates=GATES)
    core = build_core(options, _REGISTRY, configuration_of(options, _REGISTRY))
    objects = objects_from([*scenario["objects"], *scenario["rounds"][0]], options.gates).objects
    core.state.replace("manifests", objects)
    work = LiveState(core, options).work()
    group = known_group(work.tree, "default", "g")
    pods = pods_of_group(work.tree, ("default", "g"))
    return work, PodGroupInfo(group, tuple(pods)), work.engine.profile("", pods[0])


def answer_of(scenario: Manifest) -> NeededChanges:
    """mooring's answer."""
    work, group, profile = _asked(scenario)
    return GroupChangeSearch(work, group, profile, progress=NoDeadline()).run()


def left_to_chance(scenario: Manifest) -> bool:
    """Return whether it depends on the choice between nodes of equal totals if the group fits."""
    work, group, profile = _asked(scenario)
    seeds = range(16)
    return len({work.engine.decide_group(group, profile, seed=seed).status.ok for seed in seeds}) > 1


_REGISTRY = registry_of(EngineOptions(feature_gates=GATES))


def plan_of(option: ChangeOption) -> Plan:
    """Return an option as changes of manifests."""
    new = [step for step in option.steps if isinstance(step, AddNode)]
    names = {step.node.metadata.name for step in new}
    labels = [
        (each.node_name, each.key, str(each.value)) for each in option.steps if isinstance(each, Relabel)
    ]
    return Plan(
        tuple((s.taint.key, s.taint.value, s.taint.effect) for s in option.steps if isinstance(s, Tolerate)),
        tuple((s.resource, s.amount) for s in option.steps if isinstance(s, LowerRequest)),
        tuple(label for label in labels if label[0] not in names),
        new[0].like if new else "",
        len(new),
        tuple(dict.fromkeys(label[1:] for label in labels if label[0] in names)),
    )


def judged(scenario: Manifest, oracle: Oracle, tally: Counter[str]) -> str:
    """Return the fault of the answer about a scenario; "" = none."""
    found, judge = answer_of(scenario), Judge(oracle, scenario)
    if judge.does(Plan()) != found.status.ok:
        if not left_to_chance(scenario):
            return f"kube-scheduler {'does not' if found.status.ok else 'does'} schedule the group as it is"
        tally["left to chance"] += 1
        return ""
    if found.status.ok:
        tally["schedulable"] += 1
        return ""
    tally[UNSCHEDULABLE] += 1
    for option in found.options:
        tally["options"] += 1
        plan = plan_of(option)
        if not judge.does(plan):
            if left_to_chance(made(scenario, plan)):
                tally["left to chance"] += 1
                continue
            return f"with {plan} kube-scheduler doesn't schedule the group"
    tally["incomplete"] += not found.complete
    cost = found.options[0].cost if found.options else Cost(4)
    tally[f"cheapest has {cost.changes} changes" if found.options else "without an answer"] += 1
    try:
        cheaper = judge.cheaper(cost)
    except TooManyError:
        tally["too many to try in full"] += 1
        return ""
    finally:
        tally["asked"] += judge.asked
    if cheaper is not None and left_to_chance(made(scenario, cheaper)):
        tally["left to chance"] += 1
        return ""
    return (
        f"{cheaper} costs less than {plan_of(found.options[0])}"
        if cheaper and found.options
        else str(cheaper or "")
    )


if __name__ == "__main__":
    sys.exit(play(__doc__, "groups that fit nowhere", 500, scenario, judged))
