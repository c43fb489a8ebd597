"""A server with a pushed state on a real channel: Schedule, Reserve, Filter, Score and Explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from random import Random
from typing import Any
from unittest.mock import patch

from mooring.cluster.kinds import Change, ClusterObject, Put
from mooring.framework import Pod, Status
from mooring.runtime.cache.outcome import Bypass, NeedsPlugins
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.service.wire.objects import CODES
from mooring.testing.builders import to_json
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.comparing import (
    Facts,
    Tally,
    Verdicts,
    check,
    facts,
    in_full,
    rows_of,
    verdicts,
)
from tests.laboratories.histories.configurations import PROFILES, Setting, plugins
from tests.laboratories.histories.plugins import Measured
from tests.laboratories.histories.pods import Kind, named, pod_of, without
from tests.service.backends import Stubs, World, sent, served, world

QUESTIONS = {"schedule": 4, "batch": 2, "reserve": 2, "look": 8, "explain": 0.3}
"""Calls, by frequency."""

RESERVE, DRY_RUN = pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_DRY_RUN


class Kept:
    """Counts the cached evaluations that engines use: a client can't see that."""

    def __init__(self) -> None:
        self.decisions = 0
        self.answers = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """While engines are watched."""

        def decided(_: Any) -> None:
            self.decisions += 1

        def answered(_: Any) -> None:
            self.answers += 1

        def in_turn(found: Any) -> None:
            # One alone is counted as it is decided.
            self.decisions += len(found.names) if len(found.names) > 1 else 0

        def placed(choices: Any) -> None:
            self.decisions += len(choices)

        with ExitStack() as stack:
            for name, count in (
                ("_from_cache", decided),
                ("cached_totals", answered),
                ("decide_batch", in_turn),
                ("place_batch", placed),
            ):
                stack.enter_context(patch.object(Engine, name, _told(getattr(Engine, name), count)))
            yield


def _told(call: Callable[..., Any], count: Callable[[Any], None]) -> Callable[..., Any]:
    @wraps(call)
    def counted(*arguments: Any, **named: Any) -> Any:
        found = call(*arguments, **named)
        if found is not None and not isinstance(found, Bypass | NeedsPlugins):
            count(found)
        return found

    return counted


class OverGrpc:
    """One history of a server; its objects are tracked in parallel."""

    def __init__(
        self, dice: Random, tally: Tally, setting: Setting, served: tuple[World, Stubs], kept: Kept
    ) -> None:
        self.tally = tally
        Measured.level = 0
        self.cluster = Cluster(Scene.of(dice, most_nodes=30))
        self._world, self._stubs = served
        self._state = self._world.state
        self._reference = setting.engine(self._state)
        self._kept = kept
        self._sequence = 1
        self._reserved: dict[str, Pod] = {}
        begin = cluster_pb.PushEvent(snapshot_begin=cluster_pb.SnapshotBegin())
        end = cluster_pb.PushEvent(snapshot_end=cluster_pb.SnapshotEnd())
        self._push([begin, *map(_event, self.cluster.begin(dice)), end])

    @classmethod
    @contextmanager
    def playing(cls, dice: Random, tally: Tally) -> Iterator[OverGrpc]:
        """While the server runs."""
        setting, kept = Setting.of(dice, newest=True), Kept()
        with (
            setting.limited(),
            world(plugins=plugins(), document=setting.document, push=True) as w,
            served(w.backend) as stubs,
            kept.counting(),
        ):
            yield cls(dice, tally, setting, (w, stubs), kept)

    def step(self, dice: Random) -> None:
        """Some events in one call, and a few questions."""
        if dice.random() < 0.85:
            self._push(map(_event, self.cluster.happen(dice)))
        if dice.random() < 0.2:
            Measured.level = dice.randrange(20)
        if self._reserved and dice.random() < 0.3:
            self._unreserve(dice)
        for question in dice.choices(list(QUESTIONS), list(QUESTIONS.values()), k=dice.choice((1, 2, 3))):
            getattr(self, f"_{question}")(dice)

    def _push(self, events: Iterable[cluster_pb.PushEvent]) -> None:
        some = list(events)
        if some:
            request = cluster_pb.PushObjectsRequest(
                source="history", session="s", first_sequence=self._sequence, events=some
            )
            self._sequence = self._stubs.cluster.PushObjects(request).next_sequence

    def _unreserve(self, dice: Random) -> None:
        """Give back places of pods that no source has delivered since, nor reported as gone."""
        self._reserved = {uid: pod for uid, pod in self._reserved.items() if uid in self.cluster.assumed}
        for uid in dice.sample(sorted(self._reserved), dice.randint(0, len(self._reserved))):
            pod = self._reserved[uid]
            reference = PodReference(namespace=pod.metadata.namespace, name=uid, uid=uid)
            self._stubs.scheduling.Unreserve(pb.UnreserveRequest(pod=reference))
            del self._reserved[uid]
            self.cluster.assumed.pop(uid, None)

    def _schedule(self, dice: Random) -> None:
        self._decide(dice, [self.cluster.kind(dice)], [0], DRY_RUN)

    def _batch(self, dice: Random) -> None:
        self._decide(dice, *self._several(dice), DRY_RUN)

    def _reserve(self, dice: Random) -> None:
        self._decide(dice, *self._several(dice), RESERVE)

    def _several(self, dice: Random) -> tuple[list[Kind], list[int]]:
        kinds = [self.cluster.kind(dice) for _ in range(dice.choice((1, 1, 2, 3)))]
        runs = [[dice.randrange(len(kinds))] * dice.choice((1, 2, 5)) for _ in range(dice.choice((1, 2, 3)))]
        return kinds, [index for run in runs for index in run]

    def _decide(
        self, dice: Random, kinds: Sequence[Kind], indices: Sequence[int], mode: pb.CommitMode.ValueType
    ) -> None:
        """One call of Schedule; each of its pods sees those before it."""
        if mode == RESERVE:
            # The reference does not play Reserve's notes of volumes and devices; gated pods are rejected.
            kinds = [without(kind, "volumes", "resourceClaims", "schedulingGates") for kind in kinds]
        profile, seed = self._profile(dice), dice.randrange(9)
        uids = [self.cluster.new_name("asked") for _ in indices]
        templates = [pod_of(kind, "template") for kind in kinds]
        pods = pb.PodColumns(template_indices=indices, uids=uids, names=uids)
        request = pb.ScheduleRequest(
            templates=[pb.PodTemplate(pod=sent(pod)) for pod in templates],
            pods=pods,
            profile=profile.name,
            commit_mode=mode,
            seed=seed,
        )
        fork, start, before = self._state.fork(), self._world.backend.engine.start, self._kept.decisions
        answer = self._stubs.scheduling.Schedule(request)
        cached = self._kept.decisions - before
        for at, (uid, index) in enumerate(zip(uids, indices, strict=True)):
            pod = named(templates[index], uid)
            full = in_full(self._reference, fork, pod, profile, seed, start if mode == RESERVE else None)
            start = (start + full.evaluation.advance) % max(len(full.evaluation.rows), 1)
            found = decision_at(answer, at)
            expected = (full.node_name or "", *facts(full)[1:5], _said(full.status, full.message))
            self.tally.decided(f"pod {at} of {len(uids)}", found, expected, cached=at < cached)
            if full.node_name is not None:
                fork.assume(pod, full.node_name)
                if mode == RESERVE:
                    self.cluster.assumed[uid] = pod, full.node_name
                    self._reserved[uid] = pod

    def _look(self, dice: Random) -> None:
        """Filter and Score of some nodes."""
        pod, profile = self._new(dice), self._profile(dice)
        nodes = sorted(self.cluster.nodes)
        names = dice.sample(nodes, dice.choice((len(nodes), dice.randint(0, len(nodes)))))
        if not names:
            return
        expected = verdicts(self._reference, self._state, pod, profile, rows_of(names))
        selection = nodes_pb2.NodeSelection(names=nodes_pb2.NodeNames(names=names))
        before = self._kept.answers
        filtered = self._stubs.scheduling.Filter(
            pb.FilterRequest(pod=sent(pod), nodes=selection, profile=profile.name, include_totals=True)
        )
        cached = self._kept.answers > before
        statuses = filtered.verdicts.node_verdicts or [0] * len(names)
        said = [_status(filtered.verdicts.distinct[number]) for number in statuses]
        wanted = [_said(status) for status, _ in expected.values()]
        self._looked("Filter", said, wanted, cached=cached)
        feasible = _totals(expected)
        if filtered.totals:
            check("totals of Filter", list(filtered.totals), list(feasible.values()))
        if not feasible:
            return
        before = self._kept.answers
        selection = nodes_pb2.NodeSelection(names=nodes_pb2.NodeNames(names=list(feasible)))
        scored = self._stubs.scheduling.Score(
            pb.ScoreRequest(
                pod=sent(pod),
                nodes=selection,
                profile=profile.name,
                include_totals=True,
                omit_plugins=dice.random() < 0.7,
            )
        )
        cached = self._kept.answers > before
        self._looked("Score", list(scored.totals), list(feasible.values()), cached=cached)

    def _looked(
        self, what: str, found: Sequence[object], expected: Sequence[object], *, cached: bool
    ) -> None:
        if cached:
            self.tally.looked(what, found, expected)
        else:
            check(what, found, expected)

    def _explain(self, dice: Random) -> None:
        pod, profile, seed = self._new(dice), self._profile(dice), dice.randrange(9)
        full = in_full(self._reference, self._state, pod, profile, seed)
        answer = self._stubs.scheduling.Explain(
            pb.ExplainRequest(pod=sent(pod), profile=profile.name, seed=seed)
        )
        names = answer.nodes.names.names
        chosen = names[answer.selected_position] if answer.HasField("selected_position") else None
        if answer.HasField("otherwise"):
            # Gates or its group hold the pod back; the rest is the decision without that.
            check("Explain", chosen, None)
            return
        found = chosen, len(answer.tie_positions), answer.evaluated_count, answer.feasible_count
        check("Explain", found, (full.node_name, full.tie_count, full.evaluated, full.feasible))

    def _new(self, dice: Random) -> Pod:
        return pod_of(self.cluster.kind(dice), self.cluster.new_name("asked"))

    def _profile(self, dice: Random) -> Profile:
        return self._reference.profile(PROFILES[dice.random() < 0.3])


def _event(change: Change) -> cluster_pb.PushEvent:
    if isinstance(change, Put):
        return cluster_pb.PushEvent(put=cluster_pb.PutObjects(objects=[_as_object(change.object)]))
    removed = cluster_pb.RemoveObject(kind=change.kind, namespace=change.namespace, name=change.name)
    return cluster_pb.PushEvent(remove=removed)


def _as_object(item: ClusterObject) -> KubernetesObject:
    kind = type(item).__name__.encode()
    return KubernetesObject(json=b'{"kind":"' + kind + b'",' + to_json(item)[1:])


def decision_at(answer: pb.ScheduleResponse, at: int) -> Facts:
    """Return everything that an answer contains about one pod."""
    return (
        answer.nodes.names.names[at],
        answer.totals[at],
        answer.tie_counts[at],
        answer.evaluated_counts[at],
        answer.feasible_counts[at],
        _status(answer.verdicts[answer.pod_verdicts[at]]),
    )


def _status(status: Any) -> Facts:
    return status.code, status.plugin, tuple(status.reasons), status.message


def _said(status: object, message: str = "") -> Facts:
    assert isinstance(status, Status)
    return CODES[status.code], status.plugin, status.reasons, message


def _totals(expected: Verdicts) -> dict[str, int]:
    return {name: total for name, (_, total) in expected.items() if total is not None}
