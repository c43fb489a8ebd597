"""The engine's own calls, in one thread: each answer next to a full one, now and then in a fresh state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from random import Random
from typing import ClassVar, Self

from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.runtime.answers import ChoiceColumns
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.profile import Profile
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.comparing import (
    Tally,
    check,
    facts,
    failed_or,
    from_scratch,
    in_full,
    is_cached,
    recorded_verdicts,
    rows_of,
    verdicts,
)
from tests.laboratories.histories.configurations import PROFILES, Setting
from tests.laboratories.histories.plugins import Measured
from tests.laboratories.histories.pods import Kind, named, pod_of


class InProcess:
    """One history; each step has dice of its own, so that a step is the same without those before it.

    Attributes:
        questions: The questions after some events, by frequency.
    """

    questions: ClassVar[dict[str, float]] = {
        "decide": 4,
        "assume": 4,
        "totals": 8,
        "batch": 1,
        "batch_assumed": 1,
        "anew": 0.15,
    }

    def __init__(self, dice: Random, tally: Tally, setting: Setting) -> None:
        self.tally = tally
        Measured.level = 0
        self.setting = setting
        self.state = State(log_length=dice.choice((5, 40, 100_000)), rules=self.setting.rules())
        self.cluster = self._cluster_of(dice)
        self.engine, self.reference = (self.setting.engine(self.state) for _ in range(2))
        self.state.apply("test", self.cluster.begin(dice))

    @classmethod
    @contextmanager
    def playing(cls, dice: Random, tally: Tally) -> Iterator[Self]:
        """While it is played, under its limits."""
        setting = Setting.of(dice, faulty=True)
        with setting.limited():
            yield cls(dice, tally, setting)

    def _cluster_of(self, dice: Random) -> Cluster:
        return Cluster(Scene.of(dice))

    def step(self, dice: Random) -> None:
        """Play some events, some of them together, and a few questions."""
        if dice.random() < 0.85:
            self.state.apply("test", self.cluster.happen(dice))
        if dice.random() < 0.3:
            self._decided_elsewhere(dice)
        if self.setting.measures and (aside := copy(dice)).random() < 0.3:
            self._measure(aside)
        if dice.random() < 0.2:
            Measured.level = dice.randrange(20)
        if self.setting.measures:
            with suppress(PluginFailureError):
                self._recorded(copy(dice))
        self._ask(dice, dice.choice((1, 2, 2, 3)))

    def _ask(self, dice: Random, count: int) -> None:
        for question in dice.choices(list(self.questions), list(self.questions.values()), k=count):
            # A rule may raise: decisions compare that, and other questions end.
            with suppress(PluginFailureError):
                getattr(self, f"_{question}")(dice)

    def _decided_elsewhere(self, dice: Random) -> None:
        """Play decisions and their ends by other callers, without a source."""
        cluster, state = self.cluster, self.state
        match dice.choice(("forget", "forget", "discard", "assume", "volume")):
            case "forget" if len(cluster.assumed) > len(cluster.nodes):
                for uid in dice.sample(sorted(cluster.assumed), len(cluster.assumed) // 2):
                    state.forget(uid)
                    cluster.forget(uid)
            case "forget" | "discard" as which if cluster.assumed:
                uid = dice.choice(sorted(cluster.assumed))
                cluster.forget(uid, removed=which == "discard")
                getattr(state, which)(uid)
            case "assume" if cluster.nodes:
                pod, node = self._new(dice)[0], dice.choice(sorted(cluster.nodes))
                state.assume(pod, node)
                cluster.assumed[pod.metadata.uid] = pod, node
            case "volume":
                self._assume_volume(dice)

    def _assume_volume(self, dice: Random) -> None:
        claims = [
            item for key, item in sorted(self.cluster.objects.items()) if key[0].startswith("Persistent")
        ]
        for item in claims[: dice.choice((0, 1))]:
            meta = item.metadata
            self.state.assume_object(item)  # type: ignore[arg-type] # neither a node nor a pod
            if dice.random() < 0.7:
                self.state.forget_object(type(item), meta.name, meta.namespace)

    def _measure(self, dice: Random) -> None:
        """Another load of some nodes."""
        values = {name: dice.randrange(100) for name in self.cluster.nodes if dice.random() < 0.8}
        load = Measurement(metadata=ObjectMeta(name="load"), values=values, per_pod=dice.choice((0, 9)))
        self.state.assume_object(load)

    def _new(self, dice: Random) -> tuple[Pod, Kind]:
        """Return a new pod, or one that waits already."""
        waiting = [pod for _, pod in sorted(self.cluster.pods.items()) if not pod.spec.node_name]
        waiting = [pod for pod in waiting if pod.metadata.uid not in self.cluster.assumed]
        if waiting and dice.random() < 0.15:
            return dice.choice(waiting), {}
        kind = self.cluster.kind(dice)
        return pod_of(kind, self.cluster.new_name("asked")), kind

    def _profile(self, dice: Random) -> tuple[Profile, Profile]:
        """Return the engine's and the reference's."""
        name = PROFILES[dice.random() < 0.3]
        return self.engine.profile(name), self.reference.profile(name)

    def _decide(self, dice: Random) -> None:
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        seed = dice.randrange(9)
        found = failed_or(lambda: self.engine.decide(pod, profile, ALL_NODES, seed=seed))
        full = failed_or(lambda: in_full(self.reference, self.state, pod, other, seed))
        if isinstance(found, str) or isinstance(full, str):
            check("failure", found, full)
            return
        self.tally.decided("dry run", facts(found), facts(full), cached=is_cached(found))
        check("version", found.state_version, self.state.version)

    def _assume(self, dice: Random) -> None:
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        seed, version = dice.randrange(9), self.state.version
        full = failed_or(lambda: in_full(self.reference, self.state, pod, other, seed, self.engine.start))
        found = failed_or(lambda: self.engine.place(pod, profile, ALL_NODES, seed=seed))
        if isinstance(found, str) or isinstance(full, str):
            check("failure", found, full)
            return
        self.tally.decided("assumed", facts(found), facts(full), cached=is_cached(found))
        check("version", found.state_version, version)
        if found.node_name is not None:
            self.cluster.assumed[pod.metadata.uid] = pod, found.node_name

    def _totals(self, dice: Random) -> None:
        """Compare the answers about some nodes: by totals alone, and with the reasons of those
        that reject.
        """
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        nodes = self.cluster.scene.nodes
        names = dice.sample(nodes, dice.choice((len(nodes), len(nodes), dice.randint(1, len(nodes)))))
        rows = rows_of(names)
        found = self.engine.cached_totals(pod, profile, rows)
        if found is None or not len(found.rows):
            return
        expected = verdicts(self.reference, self.state, pod, other, rows)
        check("version", found.version, self.state.version)
        if profile.has_scoring:
            said = [None if total < 0 else total for total in found.totals.tolist()]
            self.tally.looked("totals", said, [total for _, total in expected.values()])
        if dice.random() < 0.5:
            return
        answer = self.engine.filter(pod, profile, rows)
        assert isinstance(answer, tuple)
        filtered, _ = answer
        reasons = (
            [filtered.statuses[code] for code in filtered.codes]
            if filtered.rejection.ok
            else [filtered.rejection] * len(expected)
        )
        check("reasons", reasons, [status for status, _ in expected.values()])

    def _recorded(self, dice: Random) -> None:
        """Compare the recorded answers of rules about all nodes with those of fresh calls."""
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        if profile.as_written is profile:
            return
        rows = rows_of(sorted(self.cluster.nodes))
        found = recorded_verdicts(self.engine, self.state, pod, profile, rows)
        full = verdicts(self.reference, self.state, pod, other, rows)
        self.tally.looked("recorded", list(found.items()), list(full.items()))

    def _batch(self, dice: Random) -> None:
        """A dry run of several pods, each of which sees those before it."""
        templates, indices, uids = self._templates(dice)
        seed, version = dice.randrange(9), self.state.version
        found = self.engine.decide_batch(
            [(pod, profile) for pod, profile, _ in templates], indices, uids, seed=seed
        )
        check("version", self.state.version, version)
        if not isinstance(found, ChoiceColumns):
            return
        columns = zip(
            found.names, found.totals, found.tie_counts, found.evaluated, found.feasible, strict=True
        )
        fork = self.state.fork()
        for uid, index, said in zip(uids, indices, columns, strict=True):
            pod, _, other = templates[index]
            pod = named(pod, uid)
            full = in_full(self.reference, fork, pod, other, seed)
            self.tally.decided("dry-run batch", said, facts(full)[:5], cached=True)
            assert full.node_name is not None
            fork.assume(pod, full.node_name)

    def _batch_assumed(self, dice: Random) -> None:
        """Several pods that are assumed in one call, as far as that goes."""
        templates, indices, uids = self._templates(dice)
        seed, start, fork = dice.randrange(9), self.engine.start, self.state.fork()
        pairs = [(pod, profile) for pod, profile, _ in templates]
        found = self.engine.place_batch(pairs, indices, uids, uids, seed=seed)
        for uid, index, choice in zip(uids, indices, found, strict=False):
            pod, _, other = templates[index]
            pod = named(pod, uid)
            version = fork.version
            full = in_full(self.reference, fork, pod, other, seed, start)
            self.tally.decided("batch", facts(choice), facts(full), cached=is_cached(choice))
            check("version", choice.state_version, version)
            start = (start + full.evaluation.advance) % max(len(full.evaluation.rows), 1)
            assert full.node_name is not None
            fork.assume(pod, full.node_name)
            self.cluster.assumed[uid] = pod, full.node_name
        check("versions after a batch", self.state.version, fork.version)

    def _templates(self, dice: Random) -> tuple[list[tuple[Pod, Profile, Profile]], list[int], list[str]]:
        templates = [
            (pod_of(self.cluster.kind(dice), "template"), *self._profile(dice))
            for _ in range(dice.choice((1, 1, 2, 3)))
        ]
        runs = [
            [dice.randrange(len(templates))] * dice.choice((1, 2, 5)) for _ in range(dice.choice((1, 2, 3)))
        ]
        indices = [index for run in runs for index in run]
        return templates, indices, [self.cluster.new_name("batch") for _ in indices]

    def _anew(self, dice: Random) -> None:
        """The same objects in a state of their own, and an engine that has seen nothing."""
        fresh = State(rules=self.setting.rules())
        from_scratch(self.state, list(self.cluster.everything()), fresh)
        engine = self.setting.engine(fresh)
        profile, _ = self._profile(dice)
        for kind in self.cluster.scene.asked:
            pod = pod_of(kind, "anew")
            names = sorted(self.cluster.nodes)
            found = verdicts(self.engine, self.state, pod, profile, rows_of(names))
            full = verdicts(engine, fresh, pod, engine.profile(profile.name), rows_of(names))
            check("from scratch", found, full)
            totals = self.engine.cached_totals(pod, profile, rows_of(names))
            if totals is not None and profile.has_scoring:
                said = [None if total < 0 else total for total in totals.totals.tolist()]
                self.tally.looked("totals from scratch", said, [total for _, total in full.values()])
