"""Sessions over a live state that moves on: each is what a state of its own with the same objects is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from random import Random

from mooring.cluster.kinds import Change, Remove
from mooring.cluster.state import State
from mooring.cluster.work_tree import WorkTree
from mooring.framework.errors import MooringError
from mooring.framework.objects import ResourceClaim
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.engine import Engine
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.sessions import MAX_LEASE_SECONDS, Session, Sessions
from mooring.sessions.versions import Policy, Version
from mooring.sessions.work_trees import Work
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.comparing import (
    Tally,
    Verdicts,
    check,
    facts,
    in_full,
    is_cached,
    rows_of,
    verdicts,
)
from tests.laboratories.histories.configurations import PROFILES, Setting
from tests.laboratories.histories.plugins import Measured
from tests.laboratories.histories.pods import pod_of

STEPS = {"live": 3, "open": 1, "change": 3, "place": 3, "mark": 1, "revert": 1, "ask": 4, "close": 0.3}
"""Steps, by frequency."""

MOST_SESSIONS = 5


@dataclass
class Twin:
    """A session, and what it is to be.

    Attributes:
        session: The session.
        cluster: Its objects.
        marks: Its objects at each mark.
        asked: It was held against a new state already.
    """

    session: Session
    cluster: Cluster
    opened: Cluster
    marks: list[Cluster] = field(default_factory=list)
    asked: bool = False


@dataclass(frozen=True)
class Anew:
    """A new state with the objects of a session.

    Attributes:
        state: The state.
        cluster: Its objects, which are known by identity as long as they are kept.
        said: Its answers, by the kind's identity and the profile.
    """

    state: State
    cluster: Cluster
    said: dict[tuple[int, str], Verdicts] = field(default_factory=dict)


class InSessions:
    """One history of a live state and of the sessions that were opened over it."""

    def __init__(self, dice: Random, tally: Tally, setting: Setting) -> None:
        self.tally = tally
        Measured.level = 0
        self.setting = setting
        self.state = State(rules=setting.rules())
        self.cluster = Cluster(Scene.of(dice, most_nodes=20))
        self.state.apply("test", self.cluster.begin(dice))
        self.sessions = Sessions(self, most_trees=dice.choice((1, 2)))
        self.twins: list[Twin] = []
        self.anew: dict[frozenset[int], Anew] = {}
        # Evaluates in full, and the engine caches nothing of it.
        self.reference = setting.engine(State(rules=setting.rules()))

    @classmethod
    @contextmanager
    def playing(cls, dice: Random, tally: Tally) -> Iterator[InSessions]:
        """While it is played, under its limits."""
        setting = Setting.of(dice, outside=False, samples=False)
        with setting.limited():
            history = cls(dice, tally, setting)
            yield history
            for twin in history.twins:
                history.sessions.close(twin.session)

    @property
    def configuration(self) -> str:
        """As ``Live`` says."""
        return self.setting.configuration.hash

    def now(self) -> Version:
        """As ``Live`` says."""
        with self.state.lock:
            return Version(self.state.journal().end, self.state.version)

    def work(self) -> Work:
        """As ``Live`` says."""
        with self.state.lock:
            tree, version = WorkTree(self.state), self.now()
        return Work(tree, self.setting.engine(tree), version)

    def policy(self, *_: object) -> Policy:
        """None of the sessions here asks for one."""
        raise AssertionError("a session asked for a policy")

    def engine(self, *_: object) -> Engine:
        """As ``policy``."""
        raise AssertionError("a session asked for a policy")

    def rest(self) -> None:
        """As ``Live`` says."""
        self.state.end_journal()

    def step(self, dice: Random) -> None:
        """One thing, to the live state or to one of the sessions."""
        step = dice.choices(list(STEPS), list(STEPS.values()))[0]
        if step == "live":
            self.state.apply("test", self.cluster.happen(dice))
        elif step == "open" or not self.twins:
            self._open(dice)
        else:
            getattr(self, f"_{step}")(dice, dice.choice(self.twins))

    def _open(self, dice: Random) -> None:
        if len(self.twins) >= MOST_SESSIONS:
            self._close(dice, dice.choice(self.twins))
        origin = dice.choice(self.twins) if self.twins and dice.random() < 0.4 else None
        # No history is so slow that a session ends before it is closed.
        session = self.sessions.open(origin=origin.session if origin else None, lease=MAX_LEASE_SECONDS)
        cluster = twin_of(origin.cluster if origin else self.cluster)
        self.twins.append(Twin(session, cluster, twin_of(cluster)))

    def _close(self, _dice: Random, twin: Twin) -> None:
        self.sessions.close(twin.session)
        self.twins.remove(twin)

    def _mark(self, _dice: Random, twin: Twin) -> None:
        twin.marks.append(twin_of(twin.cluster))
        check("mark", self.sessions.mark(twin.session), len(twin.marks))

    def _revert(self, dice: Random, twin: Twin) -> None:
        mark = dice.randint(0, len(twin.marks))
        if mark and dice.random() < 0.3:
            self.sessions.commit(twin.session, mark)
        else:
            self.sessions.revert(twin.session, mark)
            twin.cluster = twin_of(twin.marks[mark - 1] if mark else twin.opened)
        del twin.marks[max(0, mark - 1) :]

    def _change(self, dice: Random, twin: Twin) -> None:
        """Play a change of the session; an absent object can't be removed from it."""
        for change in twin.cluster.happen(dice):
            with self.sessions.working(twin.session, NoDeadline()) as work, absent(change):
                work.tree.apply_changes([change])

    def _place(self, dice: Random, twin: Twin) -> None:
        """One pod, or several of one template; a dry run in full says where they have to be."""
        kind, name = twin.cluster.kind(dice), PROFILES[dice.random() < 0.3]
        seed, several = dice.randrange(9), dice.choice((1, 1, 3))
        names = [twin.cluster.new_name("placed") for _ in range(several)]
        pods = [pod_of(kind, name) for name in names]
        with self.sessions.working(twin.session, NoDeadline()) as work:
            profile = work.engine.profile(name)
            uids = [pod.metadata.uid for pod in pods]
            fork = work.tree.fork()
            choices = (
                place_alike(work, [(pods[0], profile)], [0] * several, names, uids, seed=seed)
                if several > 1
                else ()
            )
            for pod, choice in zip(pods, choices, strict=False):
                full = in_full(work.engine, fork, pod, profile, seed)
                self.tally.decided("placed", facts(choice)[:5], facts(full)[:5], cached=is_cached(choice))
                assert full.node_name is not None
                fork.assume(pod, full.node_name)
                self._placed(twin, work, pod, full.node_name)
            if len(choices) < several:
                pod = pods[len(choices)]
                with suppress(MooringError):
                    placed = place_pod(work, pod, profile, ALL_NODES, seed=seed)
                    if placed.status.ok and placed.choice.node_name is not None:
                        self._placed(twin, work, pod, placed.choice.node_name)

    def _placed(self, twin: Twin, work: Work, pod: object, node: str) -> None:
        record = work.tree.snapshot.pods.records[pod.metadata.uid]  # type: ignore[attr-defined]
        check("node", record.node_name, node)
        twin.cluster.put(record.pod)
        # Claims and volumes that Reserve assumed, and the claims that it made, are part of the session.
        for kind in {ResourceClaim, *map(type, twin.cluster.objects.values())}:
            twin.cluster.put(*work.tree.snapshot.objects.all(kind))

    def _ask(self, dice: Random, twin: Twin) -> None:
        """Check that all answers about all nodes equal those over a new state with the same objects."""
        anew = self._anew(twin)
        names = sorted(twin.cluster.nodes)
        name = PROFILES[dice.random() < 0.3]
        self.tally.sessions += not twin.asked
        twin.asked = True
        with self.sessions.trying(twin.session, NoDeadline()) as work:
            check("nodes", sorted(work.tree.snapshot.nodes.index), names)
            check("pods", self._pods(work.tree), self._pods(anew.state))
            profile, reference = work.engine.profile(name), self.reference.profile(name)
            for kind in twin.cluster.scene.asked:
                pod = pod_of(kind, "anew")
                found = verdicts(work.engine, work.tree, pod, profile, rows_of(names))
                full = anew.said.get((id(kind), name))
                if full is None:
                    full = verdicts(self.reference, anew.state, pod, reference, rows_of(names))
                    anew.said[id(kind), name] = full
                check("session", found, full)
                totals = work.engine.cached_totals(pod, profile, rows_of(names))
                if totals is not None and profile.has_scoring:
                    said = [None if total < 0 else total for total in totals.totals.tolist()]
                    self.tally.looked("totals of a session", said, [total for _, total in full.values()])

    def _anew(self, twin: Twin) -> Anew:
        """Return a new state with a session's objects, the same one as long as these are the same."""
        objects = frozenset(map(id, twin.cluster.everything()))
        if objects not in self.anew:
            fresh = State(rules=self.setting.rules())
            fresh.replace("test", [*twin.cluster.everything()])
            self.anew[objects] = Anew(fresh, twin_of(twin.cluster))
        return self.anew[objects]

    def _pods(self, state: ClusterState) -> dict[str, str]:
        return {record.uid: record.node_name for record in state.snapshot.pods.records.values()}


def twin_of(cluster: Cluster) -> Cluster:
    """Return a copy that goes on by itself."""
    twin = copy(cluster)
    twin.nodes, twin.pods, twin.objects = {**cluster.nodes}, {**cluster.pods}, {**cluster.objects}
    twin.assumed = {**cluster.assumed}
    return twin


@contextmanager
def absent(change: Change) -> Iterator[None]:
    """Removing what isn't there is an error, and changes nothing."""
    try:
        yield
    except MooringError as error:
        if not isinstance(change, Remove):
            raise
        check("error", "there is no" in error.message, True)
