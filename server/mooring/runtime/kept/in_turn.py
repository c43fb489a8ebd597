"""Many decisions, each assumed before the next one; a run of pods that are alike costs one look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, groupby

from mooring.framework import ClusterState, Pod
from mooring.framework.errors import DeadlineExceededError, PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import Choice
from mooring.runtime.kept.consistency import answer, held, may_decide
from mooring.runtime.kept.keeper import Keeper, Template
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls

MOST_ALIKE = 256
"""For so many decisions at most the state is held at a time: about a millisecond."""


class DecisionsInTurn:
    """One course of decisions from kept evaluations. For one thread.

    Args:
        cluster: The state.
        keeper: The kept evaluations over it.
        seed: For the choice among ties.
        start: Where the search begins when not all nodes are looked at.

    Attributes:
        start: Where the next search begins.
        choices: What was decided, and is assumed.
    """

    def __init__(self, cluster: ClusterState, keeper: Keeper, seed: int, start: int) -> None:
        self.choices: list[Choice] = []
        self._cluster = cluster
        self._keeper = keeper
        self._seed = seed
        self.start = start

    def run(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        calls: Callable[[Profile], PluginCalls],
    ) -> None:
        """Decide about pods, each given by the index of its template, its name and its UID, in order.

        It ends before the first that has to be evaluated in full, as one that no node takes.

        Raises:
            DeadlineExceededError: The caller no longer waits, and nothing was assumed.
        """
        choices, end = self.choices, 0
        found: dict[int, Template | None] = {}
        try:
            for index, alike in groupby(indices):
                pod, profile = templates[index]
                end += sum(1 for _ in alike)
                if index not in found:
                    found[index] = self._keeper.find(pod, profile)
                template = found[index]
                if template is None:
                    return
                use = partial(calls, profile)
                while (at := len(choices)) < end:
                    if not may_decide(self._cluster, pod, profile):
                        return
                    some = slice(at, min(end, at + MOST_ALIKE))
                    self._decide(pod, template, names[some], uids[some], use)
        except DeadlineExceededError:
            if not choices:
                raise
        except (NotKeptError, NodesChangedError, PluginFailureError):
            pass

    def _decide(
        self,
        pod: Pod,
        template: Template,
        names: Sequence[str],
        uids: Sequence[str],
        calls: Callable[[], PluginCalls],
    ) -> None:
        """Decide about at least one pod.

        Raises:
            NotKeptError: That can't be done.
        """
        kept = template.kept

        def assume(_: None) -> None:
            self._assume(pod, template, names, uids)

        with held(kept):
            answer(self._cluster, kept, pod, lambda: kept.follow(calls, start=self.start), assume)

    def _assume(self, pod: Pod, template: Template, names: Sequence[str], uids: Sequence[str]) -> None:
        """As ``_decide``, for the holder of both locks."""
        kept, cluster = template.kept, self._cluster
        uids, changes = self._unplaced(uids)
        if not uids:
            raise NotKeptError
        leads, taken_in = kept.lead_in_turn(self._seed, uids, template.kind)
        if not leads:
            raise NotKeptError
        count, rows, standing = len(leads), [lead.row for lead in leads], kept.standing
        versions = tuple(accumulate(changes[:count], initial=kept.version))
        try:
            cluster.assume_alike(pod, template.kind, names[:count], uids[:count], rows)
        except BaseException:
            kept.placed(-1)
            raise
        kept.placed(versions[taken_in])
        nodes = cluster.snapshot.nodes.names
        self.choices += [
            Choice(nodes[at.row], at.row, at.total, at.ties, at.evaluated, at.feasible, version, standing)
            for at, version in zip(leads, versions, strict=False)
        ]
        self.start += sum(lead.evaluated for lead in leads)
        self.start %= len(cluster.snapshot.nodes)

    def _unplaced(self, uids: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
        """The UIDs before the first pod that counts on a node, and how many changes placing each makes."""
        records = self._cluster.snapshot.pods.records
        if records.keys().isdisjoint(uids):
            return uids, [1] * len(uids)
        changes = []
        for uid in uids:
            record = records.get(uid)
            if record is not None and record.node_name:
                break
            changes.append(1 if record is None else 2)
        return uids[: len(changes)], changes
