"""mooring decides the groups of a scenario, and is compared with kube-scheduler's decisions.

If kube-scheduler decides at random, between nodes or placements that are equally good and about the order of
placements, mooring gets its choice, which has to be one of mooring's own ties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from msgspec import structs

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.manifests import objects_from
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    CycleState,
    Gates,
    GroupPlacement,
    GroupPreemption,
    KubeVersion,
    NodeView,
    PlacementGeneratePlugin,
    Pod,
    PodGroupInfo,
    Status,
)
from mooring.framework.errors import PluginFailureError
from mooring.framework.objects import PodGroup, ResourceClaim
from mooring.framework.pod_requests import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.group_result import GroupDecision, TriedPlacement
from mooring.runtime.cycle.tie_break import SeededPicks
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.question import NoBinder
from tests.laboratories.conformance.families.draft import Manifest

SOURCE = "groups"
_DOMAIN = "cannot determine domain for already scheduled pods"
_NOT_INSTALLED = re.compile(r"(\d+) \S+ CSI driver is not installed on the node")


def differences(scenario: Manifest, rounds: Sequence[Manifest], version: str) -> list[str]:
    """Return mooring's differences from kube-scheduler, round by round; it continues from kube-scheduler's
    state.
    """
    state, engine = _cluster(scenario, version)
    for at, (objects, decided) in enumerate(zip(scenario["rounds"], rounds, strict=True)):
        state.apply(SOURCE, [Put(each) for each in objects_from(objects).objects])
        if decided["group"]:
            if found := [f"rounds[{at}].{line}" for line in _compared(engine, decided)]:
                return found
            _follow(state, decided)
    return []


def _cluster(scenario: Manifest, version: str) -> tuple[State, Engine]:
    registry = new_in_tree_registry()
    gates = scenario["feature_gates"]
    state = State(rules=ResourceRules.of(Gates(KubeVersion.parse(version), gates)))
    state.replace(SOURCE, objects_from(scenario["objects"]).objects)
    configuration = from_document(
        scenario["config"], registry.catalog(), kube_version=version, feature_gates=gates
    )
    engine = build_engine(
        configuration, registry, state, NoBinder(), kube_version=version, feature_gates=gates
    )
    return state, engine


def _compared(engine: Engine, decided: Manifest) -> Iterator[str]:
    info = _asked(engine, decided)
    profile = engine.profile(pod=info.pods[0])
    picks = _Picks(engine, decided["attempts"])
    try:
        decision = engine.decide_group(info, picks.ordered(profile), picks=picks)
    except PluginFailureError as failure:
        condition = decided["condition"] or {}
        if condition.get("reason") != "SchedulerError":
            yield f"mooring fails: {failure.message}"
        return
    yield from picks.wrong
    yield from _told(decision, decided)
    if decided["attempts"]:
        yield from _tried(engine, decision, decided["attempts"][0])
    yield from _room(engine, decision, decided)
    if decision.preemption is None:
        yield from _by_itself(engine, info, profile)


def _asked(engine: Engine, decided: Manifest) -> PodGroupInfo:
    """Return the group with its waiting pods, in kube-scheduler's order."""
    namespace, name = decided["group"].split("/")
    snapshot = engine.state.snapshot
    group = snapshot.objects.get(PodGroup, name, namespace)
    assert group is not None
    pods = {pod.metadata.name: pod for pod in snapshot.pods.in_group((namespace, name))}
    waiting = [pods[each] for each in decided["order"]]
    return PodGroupInfo(group, tuple(waiting))


class _Picks:
    """Picks as kube-scheduler did, in each of its attempts."""

    def __init__(self, engine: Engine, attempts: Sequence[Manifest]) -> None:
        self.wrong: list[str] = []
        self._names = engine.state.snapshot.nodes.names
        self._attempts = attempts
        self._at = 0
        self._places: dict[str, int] = {}

    def node(self, placement: GroupPlacement, choice: Choice) -> Choice:
        at = self._places[placement.name] = self._places.get(placement.name, -1) + 1
        pods = self._one(placement.name).get("pods", [])
        where = f"attempts[{self._at}].{placement.name}.pods[{at}]"
        if at >= len(pods):
            self.wrong.append(f"{where}: only mooring tries this pod")
            return choice
        ties = {self._names[row]: row for row in choice.ties.tolist()} if choice.node_name else {"": -1}
        host = pods[at]["host"]
        if host not in ties:
            self.wrong.append(f"{where}: {host!r} is not one of {sorted(ties)}")
            return choice
        return structs.replace(choice, node_name=host or None, row=ties[host])

    def placement(self, names: Sequence[str]) -> int:
        best = self._attempts[self._at]["best"]
        if best not in names:
            self.wrong.append(f"attempts[{self._at}]: best {best!r} is not one of {names}")
            return 0
        return list(names).index(best)

    def again(self) -> None:
        self._at += 1
        self._places = {}

    def ordered(self, profile: Profile) -> Profile:
        """Return the profile, with placements in the order in which kube-scheduler tried them."""
        generate = tuple(
            replace(each, plugin=_Ordered(each.plugin, self)) for each in profile.placement_generate
        )
        return replace(profile, placement_generate=generate)

    def order(self, name: str) -> int:
        return [one["name"] for one in self._tried()].index(name) if self._one(name) else -1

    def _tried(self) -> list[Manifest]:
        return self._attempts[self._at]["tried"] if self._at < len(self._attempts) else []

    def _one(self, name: str) -> Manifest:
        return next((one for one in self._tried() if one["name"] == name), {})


class _Ordered(PlacementGeneratePlugin[None]):
    """A PlacementGenerate plugin whose placements come in another order."""

    name = "Ordered"

    def __init__(self, plugin: PlacementGeneratePlugin[Any], picks: _Picks) -> None:
        super().__init__(None, plugin.handle)
        self._plugin = plugin
        self._picks = picks

    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, nodes: NodeView
    ) -> Sequence[GroupPlacement] | Status:
        found = self._plugin.generate_placements(state, group, nodes)
        return (
            found if isinstance(found, Status) else sorted(found, key=lambda one: self._picks.order(one.name))
        )


def _told(decision: GroupDecision, decided: Manifest) -> Iterator[str]:
    """Yield the messages of the group and its pods."""
    condition = decided["condition"]
    if condition is not None:
        ours = ("True" if decision.status.ok else "False", _plain(decision.message))
        yield from _unequal("condition", ours, (condition["status"], _plain(condition["message"])))
    said = {
        member.pod.metadata.name: (
            (member.node_name, "", "")
            if decision.status.ok and member.node_name
            else ("", _code(member.status.code.label), _plain(member.message))
        )
        for member in decision.members
    }
    theirs = {
        pod["name"]: (pod["host"], _code(pod["code"]), _plain(pod["message"])) for pod in decided["pods"]
    }
    yield from _unequal("pods", said, theirs)


def _code(label: str) -> str:
    """kube-scheduler calls each such pod Unschedulable; PreFilter's verdict on it is in the reasons."""
    return "Unschedulable" if label == "UnschedulableAndUnresolvable" else label


def _plain(message: str) -> str:
    """Which of several scheduled pods of a group is found wanting is left to chance, and which of several
    CSI drivers that a node lacks.

    An error in looking for room has each side's own words.
    """
    message = re.sub(r"(preemption: )\[?(running|plugin) .*", r"\1", message)
    message = message.partition(_DOMAIN)[1] or message
    if lacking := sum(map(int, _NOT_INSTALLED.findall(message))):
        others = [each for each in re.split(r": |, |\.$", message) if not _NOT_INSTALLED.match(each)]
        return ", ".join([*others, f"{lacking} lack a CSI driver"])
    return message


def _tried(engine: Engine, decision: GroupDecision, attempt: Manifest) -> Iterator[str]:
    names = engine.state.snapshot.nodes.names
    theirs = {one["name"]: one for one in attempt["tried"]}
    yield from _unequal("tried", [one.placement.name for one in decision.tried], list(theirs))
    for one in decision.tried:
        other = theirs.get(one.placement.name)
        if other is None:
            continue
        if attempt["generated"]:
            rows = sorted(names[row] for row in one.placement.rows.tolist())
            yield from _unequal(f"{one.placement.name}.nodes", rows, sorted(other["nodes"]))
        yield from _unequal(f"{one.placement.name}.pods", _pods_of(one), _pods_given(other))
    scores = {score["name"]: (score["total"], score["scores"]) for score in attempt["scores"]}
    yield from _unequal("scores", _scores_of(decision), scores)


def _pods_of(one: TriedPlacement) -> list[Any]:
    return [
        (
            member.pod.metadata.name,
            member.node_name,
            _code(member.choice.status.code.label),
            _plain(member.choice.message),
        )
        for member in one.members
        if member.choice is not None
    ]


def _pods_given(other: Manifest) -> list[Any]:
    return [
        (pod["name"], pod["host"], _code(pod["code"]) or "Success", _plain(pod["message"]))
        for pod in other["pods"]
    ]


def _scores_of(decision: GroupDecision) -> dict[str, Any]:
    found = {}
    for position, at in enumerate(decision.compared):
        each = {score.plugin: int(score.normalized[position]) * score.weight for score in decision.scores}
        found[decision.tried[at].placement.name] = (sum(each.values()), each)
    return found


def _room(engine: Engine, decision: GroupDecision, decided: Manifest) -> Iterator[str]:
    found, theirs = decision.preemption, decided["room"]
    if found is None or theirs is None:
        yield from _unequal("room", found is None, theirs is None)
        return
    yield from _unequal(
        "room", (found.status.code.label, found.status.message), (theirs["code"], theirs["message"])
    )
    victims = [pod.key for pod in found.victims if pod.metadata.deletion_timestamp is None]
    ours = _by_unit(engine, victims)
    yield from _unequal("victims", ours, _by_unit(engine, decided["victims"]))
    yield from _unequal("freed", _freed(found), _freed_there(engine, decided))
    if found.status.ok:
        nominated = {pod["name"]: pod["nominated"] for pod in decided["pods"]}
        kept = {each.pod.metadata.name: each.pod.status.nominated_node_name for each in decision.members}
        new = {pod.metadata.name: node for pod, node in found.nominations}
        yield from _unequal("nominated", kept | new, nominated)


def _freed(found: GroupPreemption) -> dict[str, bool]:
    """Claims that lose their devices (True) or a user: in the end, where two pods would free the same."""
    proposals = [remedy.proposal.split() for remedy in found.remedies]
    return {words[1]: words[-1] == "deallocated" for words in proposals}


def _freed_there(engine: Engine, decided: Manifest) -> dict[str, bool]:
    """Return the same by kube-scheduler, which also removes the pods that it tried: these are left out."""
    found = {}
    for name, claim in decided.get("claims", {}).items():
        namespace, own_name = name.split("/")
        before = engine.state.snapshot.objects.get(ResourceClaim, own_name, namespace)
        status = claim.get("status", {})
        left = {user["uid"] for user in status.get("reservedFor", [])}
        groups = () if before is None else [user for user in before.status.reserved_for if user.api_group]
        if "allocation" not in status or any(group.uid not in left for group in groups):
            found[name] = "allocation" not in status
    return found


def _by_unit(engine: Engine, victims: Sequence[str]) -> list[list[str]]:
    """Return the victims in their order; of a group that goes as a whole kube-scheduler has them in none."""
    snapshot = engine.state.snapshot
    pods = {record.pod.key: record.pod for record in snapshot.pods.records.values()}

    def unit(victim: str) -> str:
        namespace, name = pods[victim].group or ("", "")
        group = snapshot.objects.get(PodGroup, name, namespace)
        return f"{namespace}/{name}" if group is not None and group.goes_together else f"pod {victim}"

    return [sorted(together) for _, together in groupby(victims, unit)]


def _by_itself(engine: Engine, info: PodGroupInfo, profile: Profile) -> Iterator[str]:
    """Yield whether mooring decides the same from the evaluation cache as in full."""
    quick = engine.decide_group(info, profile)
    full = engine.decide_group(info, profile, picks=SeededPicks(0, info.group.metadata.uid))
    yield from _unequal("from the cache", _said(quick), _said(full))


def _said(decision: GroupDecision) -> Any:
    tried = [
        (one.placement.name, one.status, [(each.node_name, each.status) for each in one.members])
        for one in decision.tried
    ]
    members = [(each.node_name, each.status, each.message) for each in decision.members]
    return decision.status, decision.taken, decision.ties, members, tried


def _unequal(what: str, ours: object, theirs: object) -> Iterator[str]:
    if ours != theirs:
        yield f"{what}: mooring {ours!r}, kube-scheduler {theirs!r}"


def _follow(state: State, decided: Manifest) -> None:
    """Make of the cluster what it is after kube-scheduler's decision."""
    namespace = decided["group"].split("/")[0]
    records = state.snapshot.pods.records.values()
    known: dict[tuple[str, str], Pod] = {
        (each.pod.metadata.namespace, each.name): each.pod for each in records
    }
    for pod in decided["pods"]:
        before = known[namespace, pod["name"]]
        started = pod.get("started") or before.status.start_time
        status = structs.replace(before.status, nominated_node_name=pod["nominated"], start_time=started)
        spec = structs.replace(before.spec, node_name=pod["host"])
        state.apply(SOURCE, [Put(structs.replace(before, spec=spec, status=status))])
    claims = objects_from(list(decided.get("claims", {}).values())).objects
    state.apply(SOURCE, [Put(claim) for claim in claims])
    state.apply(SOURCE, [Remove("Pod", *victim.split("/")) for victim in decided["victims"]])
