"""Decisions made again: the pod as it was, in the state of then, with the seed of then.

The state of then is a version as sessions have them, so there is one journal of changes for both.
A pod that was tried with its group is decided together with those that the group tried before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Protocol

import msgspec
import numpy as np

from mooring.decisions.decisions import write_choice, write_member, write_why
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.reasons import why_of
from mooring.decisions.records import DecisionKind, Record
from mooring.framework import PodGroupInfo
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.state import ClusterState
from mooring.runtime.answers import (
    ALL_NODES,
    Candidates,
    Choice,
    CycleOptions,
    Explanation,
    ForkReserve,
    GroupMember,
    Progress,
    begin,
    evaluate,
    findings_of,
    mix64,
    no_choice,
    seek_room,
    select,
    waiting_pods,
)
from mooring.sessions.versions import Version
from mooring.sessions.work_trees import Live, Work, WorkTrees


class NotedLive(Live, Protocol):
    """The live state whose changes are noted."""

    def happened_since(self, version: int) -> Counter[str]:
        """Return how often each kind of change happened since a version of the live state, such as ``pods
        placed``; none also if that is too long ago.
        """
        ...

    def changed_between(self, first: int, second: int) -> Mapping[str, Sequence[Any]]:
        """Return by ``Pod namespace/name``, ``Node name`` or the like the changes of each object between two
        versions, for ``SessionState.undo``; none also if that is too long ago.
        """
        ...


MOST_CHANGED = 64
"""Objects that are taken back one by one, to see which change moved the outcome."""


class Repeater:
    """Makes decisions again. Safe from any thread.

    Args:
        live: The live state; its changes are noted all the time.
        version_at: Returns the version of the live state of that number; None when it is too long ago.
    """

    def __init__(
        self,
        journal: DecisionJournal,
        live: NotedLive,
        version_at: Callable[[int], Version | None],
    ) -> None:
        self._journal = journal
        self._live = live
        self._version_at = version_at
        self._trees = WorkTrees(live, 1)

    def since(self, version: int) -> list[str]:
        """Return what changed in the live state since a version of it, in words, most first; none also if
        that is too long ago.
        """
        return [f"{count} {what}" for what, count in self._live.happened_since(version).most_common()]

    def repeat(
        self, seq: int, progress: Progress, *, all_rejections: bool = False
    ) -> tuple[Record, Explanation]:
        """Return what comes out when decision ``seq`` is made again, as a record, and its explanation.

        With ``all_rejections`` it has the plugins' findings too, unless the pod was decided with its group.

        Raises:
            NotFoundError: There is no such decision, or it was forgotten (DECISION_NOT_FOUND).
            FailedPreconditionError: It can't be made again (DECISION_NOT_REPEATABLE).
            DeadlineExceededError: The caller no longer waits.
        """
        record = self._found(seq)
        with self._state_of(seq, record, progress) as work:
            group = record.details.group
            if group is None:
                again, choice = _decided_again(work, record, progress, all_rejections=all_rejections)
                if all_rejections:
                    profile = work.engine.profile(record.profile)
                    found = findings_of(choice.evaluation.by(profile), work.engine.calls(profile, progress))
                    return again, Explanation.of(choice, record.seed, findings=found)
            else:
                member = MemberAgain(work, record, group, progress)
                again, choice = member.record, member.choice(all_rejections=all_rejections)
            return again, Explanation.of(choice, record.seed)

    def moved_by(self, first: int, second: int, progress: Progress) -> list[tuple[str, ...]]:
        """Return the smallest sets of inputs that moved the outcome from one decision to another: with the
        first one's values of them, the second decision comes out as the first. None if both came out alike.

        A change of the state is named by the objects that changed, if few did and one of them alone moved it.
        Raises NotFoundError, FailedPreconditionError or DeadlineExceededError as ``repeat`` does.
        """
        one, other = (self._found(seq) for seq in (first, second))
        if one.node == other.node or one.details.group or other.details.group:
            return []
        values = {"pod": one.pod != other.pod, "seed": one.seed != other.seed}
        values["state"] = one.state_version != other.state_version
        differing = [name for name, differs in values.items() if differs]
        found: list[tuple[str, ...]] = []
        for count in range(1, len(differing) + 1):
            for chosen in combinations(differing, count):
                if any(set(known) <= set(chosen) for known in found):
                    continue
                if self._node_with(one, other, second, chosen, progress) == one.node:
                    found.append(chosen)
        if ("state",) in found:
            found.remove(("state",))
            found.extend(self._objects_moving(one, other, second, progress) or [("state",)])
        return found

    def _found(self, seq: int) -> Record:
        record = self._journal.find(seq)
        if record is None:
            raise decision_not_found(seq, self._journal)
        return record

    def _node_with(
        self, one: Record, other: Record, seq: int, inputs: Sequence[str], progress: Progress
    ) -> str:
        """Return the node of a decision with some inputs of another one."""
        mixed = msgspec.structs.replace(
            other,
            pod=one.pod if "pod" in inputs else other.pod,
            seed=one.seed if "seed" in inputs else other.seed,
            state_version=one.state_version if "state" in inputs else other.state_version,
        )
        with self._state_of(seq, mixed, progress) as work:
            return _decided_again(work, mixed, progress, all_rejections=False)[0].node

    def _objects_moving(
        self, one: Record, other: Record, seq: int, progress: Progress
    ) -> list[tuple[str, ...]]:
        """Return the objects whose change alone moved the outcome; none if too many changed."""
        found: list[tuple[str, ...]] = []
        with self._state_of(seq, other, progress) as work:
            changes = self._live.changed_between(one.state_version, other.state_version)
            for name, entries in changes.items() if len(changes) <= MOST_CHANGED else ():
                if name == f"Pod {one.pod.key}":
                    continue
                work.tree.undo(entries)
                try:
                    node = _decided_again(work, other, progress, all_rejections=False)[0].node
                finally:
                    work.go_back()
                    work.tree.redo(entries)
                if node == one.node:
                    found.append((name,))
        return found

    @contextmanager
    def _state_of(self, seq: int, record: Record, progress: Progress) -> Iterator[Work]:
        """Lend a work tree that is what the decision saw."""
        if record.kind is DecisionKind.FILTER and not record.details.repeatable:
            raise _not_repeatable("it answered a question about some nodes, as an extender's are")
        if not record.details.repeatable or record.kind is DecisionKind.BIND or not record.state_version:
            raise _not_repeatable(
                "it was not about all nodes of the live state, or not about the state alone"
            )
        version = self._version_at(record.state_version)
        if version is None:
            raise _not_repeatable("the cluster's state then is no longer known")
        try:
            with self._trees.at(version, progress) as work:
                if record.configuration != work.engine.profiles.configuration:
                    raise _not_repeatable("the configuration is another one by now")
                self._place_earlier(seq, record, work, progress)
                yield work
        except FailedPreconditionError as error:
            if error.reason != "SESSION_EXPIRED":
                raise
            raise _not_repeatable("the cluster's state then is no longer known") from error

    def _place_earlier(self, seq: int, record: Record, work: Work, progress: Progress) -> None:
        """Place the pods that the same dry run had placed before."""
        if not record.details.earlier:
            return
        if record.details.placed:
            profile = work.engine.profile(record.profile)
            reserve, calls = ForkReserve(profile, work.tree), work.engine.calls(profile, progress)
            for pod, node_name in record.details.placed[: record.details.earlier]:
                reserve.place(pod, node_name, calls)
            return
        batch = self._journal.batch_of(seq)
        if batch is None:
            raise _not_repeatable("the pods that the same call had placed before are forgotten")
        for at in range(record.details.earlier):
            work.tree.assume(batch.pod(at), batch.nodes[at])


def decision_not_found(seq: int, journal: DecisionJournal) -> NotFoundError:
    """Return the error for a decision that isn't in the journal."""
    return NotFoundError(
        f"there is no decision {seq}; the journal has those from {journal.first} to {journal.last}",
        reason="DECISION_NOT_FOUND",
    )


def _decided_again(
    work: Work, record: Record, progress: Progress, *, all_rejections: bool
) -> tuple[Record, Choice]:
    """Return what comes out for a pod that was decided about alone, and the choice that this was."""
    work.tree.discard(record.uid)
    profile = work.engine.profile(record.profile)
    if record.details.attempt:
        # The queue has run PreEnqueue.
        profile = replace(profile, pre_enqueue=())
    options = CycleOptions(start=record.details.start, all_rejections=all_rejections)
    run = partial(evaluate, options=options)
    found = work.engine.evaluate(record.subject(), profile, ALL_NODES, run, progress=progress)
    choice, again = select(*found, record.seed), record.undecided()
    if record.details.attempt and choice.node_name is None:
        calls, start = work.engine.calls(profile, progress), mix64(record.details.attempt, record.uid)
        seek_room(choice.evaluation, calls, start)
    if record.kind.selects:
        write_choice(again, choice)
    else:
        again.evaluated, again.feasible = choice.evaluated, choice.feasible
        if record.why is not None or not (choice.feasible or record.details.nominated):
            write_why(again, why_of(choice.evaluation))
    return again, choice


def _not_repeatable(why: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"the decision can't be made again: {why}; request a current explanation",
        reason="DECISION_NOT_REPEATABLE",
    )


class MemberAgain:
    """The decision about one pod of a group, made again with that about the group. For one thread.

    Args:
        record: The decision about the pod.
        group: The group as it was tried.
        progress: Whether the caller still waits.
    """

    def __init__(self, work: Work, record: Record, group: PodGroupInfo, progress: Progress) -> None:
        self._work = work
        self._group = group
        self._seed = record.seed
        self._progress = progress
        self._profile = work.engine.profile(record.profile)
        self._decision = work.engine.decide_group(group, self._profile, seed=record.seed, progress=progress)
        uids = [member.pod.metadata.uid for member in self._decision.members]
        self._at = uids.index(record.uid)
        self.record = record.undecided()
        write_member(self.record, self._decision.members[self._at], self._decision)

    def choice(self, *, all_rejections: bool = False) -> Choice:
        """Return the pod's evaluation of the placement's nodes, in full.

        If the group was given up before the pod's turn, no node is evaluated.
        """
        decision, at = self._decision, self._at
        if decision.taken < 0 or at >= len(decision.tried[decision.taken].members):
            return self._untried()
        tried, pod = decision.tried[decision.taken], decision.members[at].pod
        world = self._world_after(tried.members[:at])
        start = mix64(self._seed, pod.metadata.uid)
        options = CycleOptions(start, all_rejections=all_rejections, group=self._group, post_filter=False)
        nodes = Candidates(lambda _: tried.placement.rows)
        found = self._work.engine.evaluate(
            pod,
            self._profile,
            nodes,
            partial(evaluate, options=options),
            state=world,
            progress=self._progress,
        )
        return select(*found, self._seed)

    def _world_after(self, members: Sequence[GroupMember]) -> ClusterState:
        """Return the state that a pod of the group sees after these."""
        tree, calls = self._work.tree, self._work.engine.calls(self._profile, self._progress)
        world = tree.fork(pods=waiting_pods(self._group, tree.snapshot))
        reserve = ForkReserve(self._profile, world)
        for member in members:
            if member.node_name and member.choice is not None:
                world.assume(member.pod, member.node_name)
                reserve.keep(member.pod, member.node_name, member.choice.written, calls)
        return world

    def _untried(self) -> Choice:
        tree, member = self._work.tree, self._decision.members[self._at]
        evaluation = begin(self._profile, tree, member.pod, np.zeros(0, np.int32))
        evaluation.rejection = self._decision.status if member.status.ok else member.status
        return no_choice(evaluation.closed(), tree.version)
