"""Pods that were tried with their group, decided again: each after those that the group tried before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mooring.decisions.decisions import write_member
from mooring.decisions.records import Record
from mooring.framework import PodGroupInfo
from mooring.framework.state import ClusterState
from mooring.runtime.answers import (
    Candidates,
    Choice,
    CycleOptions,
    ForkReserve,
    GroupMember,
    Progress,
    begin,
    evaluate,
    mix64,
    no_choice,
    select,
    waiting_pods,
)
from mooring.sessions.work_trees import Work


class MemberAgain:
    """The decision about one pod of a group, made again with that about the group. For one thread.

    Args:
        work: The state that the group's decision saw.
        record: The decision about the pod.
        group: The group as it was tried.
        progress: Whether the caller still waits.

    Attributes:
        record: The result.
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
