"""Several threads decide while another one writes: every answer is one that was true between call and return.

The state keeps a copy of each version that it had. The node of a pod that is assumed must be feasible in the
very version that it is assumed on: then no rule is broken by callers who decide at the same time.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

from msgspec.structs import replace

from mooring.cluster.kinds import Change
from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.pod_requests import ResourceRules
from mooring.framework.pod_table import PodKind
from mooring.runtime.cache.answers.totals import Totals
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice, ChoiceColumns
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.profiles.profile import Profile
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.comparing import (
    Facts,
    Tally,
    check,
    facts,
    in_full,
    is_cached,
    rows_of,
    verdicts,
)
from tests.laboratories.histories.configurations import PROFILES, Setting
from tests.laboratories.histories.objects import claim, volume
from tests.laboratories.histories.pods import ZONE, Kind, app, named, pod_of, without

DECIDERS, CALLS, WRITES = 3, 5, 14
"""In one burst: threads, the calls of each, and the changes in parallel."""

SWITCH_INTERVAL = 1e-5
"""Seconds after which another thread has its turn."""

RULED = ("InterPodAffinity", "PodTopologySpread", "VolumeRestrictions", "NodeResourcesFit")
"""The plugins whose rules are checked at the end."""


class Recorded(State):
    """A state with a copy of each version that it had.

    Attributes:
        copies: By version.
        placed: Each pod that was assumed, its node, and the version that it was assumed on.
    """

    def __init__(self, rules: ResourceRules) -> None:
        self.copies: dict[int, State] = {}
        self.placed: list[tuple[Pod, str, int]] = []
        super().__init__(rules=rules)

    def begin(self) -> None:
        """Keep the present objects, and no older ones."""
        with self.lock:
            self.copies = {self.version: self.fork()}
            self.placed = []

    def assume(self, pod: Pod, node_name: str, kind: PodKind | None = None) -> None:
        with self.lock:
            before = self.version
            super().assume(pod, node_name, kind)
            if self.version != before:
                self.placed.append((pod, node_name, before))

    def assume_alike(
        self, pod: Pod, kind: PodKind, names: Sequence[str], uids: Sequence[str], rows: Sequence[int]
    ) -> None:
        with self.lock:
            before = self.version
            super().assume_alike(pod, kind, names, uids, rows)
            nodes = self.snapshot.nodes.names
            self.placed += [
                (named(pod, uid), nodes[row], before) for uid, row in zip(uids, rows, strict=True)
            ]

    def _publish(self) -> None:
        super()._publish()
        if self.version not in self.copies:
            self.copies[self.version] = self.fork()


Answer = Choice | ChoiceColumns | Sequence[Choice] | Totals | Evaluation | None


@dataclass(frozen=True)
class Call:
    """One call, and what came of it.

    Attributes:
        what: Which one.
        pods: The pods in question, in order.
        profile: The reference's profile.
        seed: For ties.
        earliest: The version at the call.
        latest: The version at the return.
        found: The answer; None = the engine has no cached one.
        version: That for which it says to be true; -1 without one.
    """

    what: str
    pods: Sequence[Pod]
    profile: Profile
    seed: int
    earliest: int
    latest: int
    found: Answer
    version: int


CALLED = {"dry": 3, "assume": 4, "batch": 1, "batch_assumed": 2, "totals": 4, "preempt": 1}
"""Calls, by frequency."""


class InThreads:
    """One history of bursts; who is first differs from time to time."""

    def __init__(self, dice: Random, tally: Tally, setting: Setting) -> None:
        self.tally = tally
        self.setting = setting
        self.state = Recorded(self.setting.rules())
        scene = Scene.of(dice, most_nodes=20)
        # Plugins of devices read the present state, even if a copy of it is evaluated.
        kinds, asked = (
            tuple(without(kind, "resourceClaims") for kind in some) for some in (scene.kinds, scene.asked)
        )
        self.cluster = Cluster(Scene(scene.nodes, kinds, asked, devices=False))
        self.engine, self.reference = (self.setting.engine(self.state) for _ in range(2))
        # In half of the histories the engine's own check runs too, and must not report a false alarm.
        self.engine.self_check.every, self.engine.self_check.share = dice.choice((0, 10)), 1.0
        self.engine.self_check.not_before = 0.0
        self.state.apply("test", self.cluster.begin(dice))
        self._bursts = 0

    @classmethod
    @contextmanager
    def playing(cls, dice: Random, tally: Tally) -> Iterator[InThreads]:
        """While threads take turns very often."""
        setting, interval = Setting.of(dice, outside=False, samples=False), sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            with setting.limited():
                yield cls(dice, tally, setting)
        finally:
            sys.setswitchinterval(interval)

    def step(self, dice: Random) -> None:
        """Play a burst: all threads begin at once, and all answers are checked when all have ended."""
        self._bursts += 1
        profile = PROFILES[dice.random() < 0.2]
        filters = {enabled.name for enabled in self.engine.profile(profile).filter}
        if dice.random() < 0.5 and filters.issuperset(RULED):
            self._ruled(dice, profile)
        else:
            self._free(dice, profile)

    def _free(self, dice: Random, profile: str) -> None:
        """Anything happens meanwhile."""
        writes = [self.cluster.happen(dice) for _ in range(WRITES)]
        forgotten = dice.sample(sorted(self.cluster.assumed), len(self.cluster.assumed) // 3)
        for uid in forgotten:
            del self.cluster.assumed[uid]
        self._burst(dice, profile, self.cluster.scene.asked, writes, forgotten)

    def _ruled(self, dice: Random, profile: str) -> None:
        """Check rules among the pods of this burst, which changes in between can't break."""
        one = f"{self._bursts}-alone"
        objects = [volume(f"volume-{one}"), claim(one, f"volume-{one}")]
        self.state.apply("test", self.cluster.put(*objects))
        mine = f"burst-{self._bursts}"
        writes = [self._beat(dice) for _ in range(WRITES)]
        before = _overfull(self.state)
        self._burst(dice, profile, ruled_kinds(mine, one), writes, ())
        check("rules broken", broken(self.state, mine), [])
        check("overfull nodes", _overfull(self.state) - before, set())

    def _beat(self, dice: Random) -> list[Change]:
        """A node says something that nothing asks for."""
        node = self.cluster.nodes[dice.choice(sorted(self.cluster.nodes))]
        labels = {**node.metadata.labels, "beat": str(dice.random())}
        return self.cluster.put(replace(node, metadata=replace(node.metadata, labels=labels)))

    def _burst(
        self,
        dice: Random,
        profile: str,
        kinds: Sequence[Kind],
        writes: Sequence[Sequence[Change]],
        forgotten: Sequence[str],
    ) -> None:
        self.state.begin()
        calls: list[Call] = []
        errors: list[BaseException] = []
        deciders = [
            partial(
                self._decide, Random(dice.random()), profile, kinds, self.cluster.new_name("thread"), calls
            )
            for _ in range(DECIDERS)
        ]
        _at_once([*deciders, partial(self._write, writes, forgotten)], errors)
        for error in errors:
            raise error
        for call in calls:
            self._check(call)
        self._check_placed(self.reference.profile(profile))
        check("wrong answers found by the engine itself", self.engine.self_check.different, 0)

    def _write(self, writes: Sequence[Sequence[Change]], forgotten: Sequence[str]) -> None:
        gone = iter(forgotten)
        for changes in writes:
            self.state.apply("test", changes)
            for uid in (next(gone, None), next(gone, None)):
                if uid is not None:
                    self.state.forget(uid)

    def _decide(
        self, dice: Random, profile: str, kinds: Sequence[Kind], name: str, calls: list[Call]
    ) -> None:
        for number in range(CALLS):
            what = dice.choices(list(CALLED), list(CALLED.values()))[0]
            if what == "preempt" and not self.engine.profile(profile).post_filter:
                what = "dry"
            count = dice.choice((2, 3, 5)) if what.startswith("batch") else 1
            template = pod_of(dice.choice(kinds), "template")
            pods = [named(template, f"{name}-{number}-{at}") for at in range(count)]
            seed, earliest = dice.randrange(9), self.state.version
            found, version = self._call(what, template, pods, profile, seed)
            other = self.reference.profile(profile)
            calls.append(Call(what, pods, other, seed, earliest, self.state.version, found, version))

    def _call(
        self, what: str, template: Pod, pods: Sequence[Pod], name: str, seed: int
    ) -> tuple[Answer, int]:
        engine, profile, pod = self.engine, self.engine.profile(name), pods[0]
        uids = [pod.metadata.uid for pod in pods]
        alike = [(template, profile)], [0] * len(pods)
        match what:
            case "dry" | "assume":
                decide = engine.decide if what == "dry" else engine.place
                choice = decide(pod, profile, ALL_NODES, seed=seed)
                return choice, choice.state_version
            case "batch":
                columns = engine.decide_batch(*alike, uids, seed=seed)
                if not isinstance(columns, ChoiceColumns):
                    return None, -1
                return columns, columns.version
            case "batch_assumed":
                choices = engine.place_batch(*alike, uids, uids, seed=seed)
                return choices, choices[0].state_version if choices else -1
            case "totals":
                totals = engine.cached_totals(pod, profile, rows_of(self.cluster.scene.nodes))
                return totals, totals.version if totals is not None else -1
            case _:
                run = partial(evaluate_preemption, given=None, seed=seed)
                return engine.evaluate(pod, profile, ALL_NODES, run=run)

    def _check(self, call: Call) -> None:
        found, version = call.found, call.version
        if version < 0:
            return
        what = f"{call.what} at version {version}"
        check(f"{what}: between call and return", call.earliest <= version <= call.latest, True)
        copy = self.state.copies[version]
        match found:
            case Choice():
                full = in_full(self.reference, copy, call.pods[0], call.profile, call.seed)
                self.tally.decided(what, facts(found), facts(full), cached=is_cached(found))
                self.tally.comparisons += not is_cached(found)
            case Totals():
                self._check_totals(what, found, copy, call)
            case Evaluation():
                run = partial(evaluate_preemption, given=None, seed=call.seed)
                full_evaluation, _ = self.reference.evaluate(
                    call.pods[0], call.profile, ALL_NODES, state=copy, run=run
                )
                check(what, _preempted(found), _preempted(full_evaluation))
                self.tally.comparisons += 1
            case ChoiceColumns():
                columns = zip(
                    found.names, found.totals, found.tie_counts, found.evaluated, found.feasible, strict=True
                )
                self._check_in_turn(what, [(said, version) for said in columns], copy.fork(), call)
            case _:
                assert isinstance(found, Sequence)
                said = [(facts(choice)[:5], choice.state_version) for choice in found]
                self._check_in_turn(what, said, copy.fork(), call)

    def _check_in_turn(self, what: str, found: Sequence[tuple[Facts, int]], fork: State, call: Call) -> None:
        """Each sees those before it; where the lock was let go between two, what others did, too."""
        before = fork.version
        for (said, version), pod in zip(found, call.pods, strict=False):
            if version != before:
                between = self.state.copies.get(version)
                fork, before = (between.fork() if between is not None else fork), version
                check(f"{what}: version", fork.version, version)
            full = in_full(self.reference, fork, pod, call.profile, call.seed)
            self.tally.decided(what, said, facts(full)[:5], cached=True)
            assert full.node_name is not None
            fork.assume(pod, full.node_name)

    def _check_totals(self, what: str, found: Totals, copy: State, call: Call) -> None:
        rows = rows_of(self.cluster.scene.nodes)
        expected = verdicts(self.reference, copy, call.pods[0], call.profile, rows)
        if call.profile.has_scoring:
            said = [None if total < 0 else total for total in found.totals.tolist()]
            self.tally.looked(what, said, [total for _, total in expected.values()])

    def _check_placed(self, profile: Profile) -> None:
        """Check that no pod was assumed on a node that rejected it at that moment."""
        forks: dict[int, State] = {}
        for pod, node, version in self.state.placed:
            fork = forks.get(version) or forks.setdefault(version, self.state.copies[version].fork())
            said = verdicts(self.reference, fork, pod, profile, rows_of([node]))
            check(f"{pod.key} on {node}, assumed on version {version}", said[node][0].ok, True)  # type: ignore[attr-defined]
            fork.assume(pod, node)
            self.cluster.assumed[pod.metadata.uid] = pod, node
        for uid in [uid for uid in self.cluster.assumed if uid not in self.state.snapshot.pods.records]:
            del self.cluster.assumed[uid]


def ruled_kinds(mine: str, one: str) -> tuple[Kind, ...]:
    """Return pods that share no zone, that are spread over zones, that share the claim ``one``, and large
    ones.
    """
    everywhere = [{"operator": "Exists"}]
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": ZONE, "labelSelector": app(f"{mine}-apart")}
        ]
    }
    even = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": app(f"{mine}-even"),
    }
    claims = [{"name": "v", "persistentVolumeClaim": {"claimName": one}}]

    def kind(name: str, requests: dict[str, str], **spec: object) -> Kind:
        labels = {"app": f"{mine}-{name}"}
        return {"labels": labels, "requests": requests, "spec": {"tolerations": everywhere, **spec}}

    small = {"cpu": "100m"}
    return (
        kind("apart", small, affinity={"podAntiAffinity": apart}),
        kind("even", small, topologySpreadConstraints=[even]),
        kind("alone", small, volumes=claims),
        kind("large", {"cpu": "3"}),
    )


def broken(state: State, mine: str) -> list[str]:
    """Return which of the rules of these pods don't hold."""
    nodes, records = state.snapshot.nodes, state.snapshot.pods.records.values()
    zones = {name: nodes.nodes[row].metadata.labels.get(ZONE) for name, row in nodes.index.items()}  # type: ignore[union-attr]
    by_kind = {
        name: Counter(
            zones.get(each.node_name)
            for each in records
            if each.pod.metadata.labels.get("app") == f"{mine}-{name}"
        )
        for name in ("apart", "even", "alone")
    }
    found = []
    if any(count > 1 for zone, count in by_kind["apart"].items() if zone is not None):
        found.append("two pods that must be apart share a zone")
    per_zone = [by_kind["even"][zone] for zone in set(zones.values()) - {None}]
    if per_zone and max(per_zone) - min(per_zone) > 1:
        found.append("pods are not spread evenly")
    if by_kind["alone"].total() > 1:
        found.append("two pods share a claim of one pod")
    return found


def _overfull(state: State) -> set[str]:
    nodes = state.snapshot.nodes
    return {
        name
        for name, row in nodes.index.items()
        if (nodes.requested[:2, row] > nodes.allocatable[:2, row]).any()
    }


def _preempted(evaluation: Evaluation) -> object:
    return evaluation.status, evaluation.preemption


def _at_once(calls: Sequence[Callable[[], None]], errors: list[BaseException]) -> None:
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], None]) -> None:
        barrier.wait()
        try:
            call()
        except Exception as error:  # noqa: BLE001 - told by who waits
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
