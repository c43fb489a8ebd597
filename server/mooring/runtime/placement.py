"""What became of a pod, and places for many pods in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mooring.framework import ClusterState, Pod, Status
from mooring.framework.errors import MooringError
from mooring.runtime.binding_cycle import BindingCycle
from mooring.runtime.choice import Choice
from mooring.runtime.commit import Commit, Committed
from mooring.runtime.profile import Profile
from mooring.runtime.progress import Progress
from mooring.runtime.reservations import Reservation


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one pod.

    Attributes:
        choice: The decision.
        reservation: The place that it got and that is not bound yet.
        committed: How the commit ended; None while there is a reservation, and without a node.
    """

    choice: Choice
    reservation: Reservation | None = None
    committed: Committed | None = None

    @property
    def status(self) -> Status:
        """The verdict on the pod."""
        return self.committed.status if self.committed else self.choice.status


def reserve_in_turn(
    cycle: BindingCycle,
    templates: Sequence[tuple[Pod, Profile]],
    indices: Sequence[int],
    names: Sequence[str],
    uids: Sequence[str],
    *,
    seed: int,
    owner: str,
    progress: Progress | None,
) -> Sequence[Placement]:
    """Decide, assume and reserve the first of some pods, in their order and with what one call each gives.

    A pod is its template with a name and a UID of its own. All that come first have a reservation; the first
    that has none is one that somebody is busy with, must not be placed, finds no node, or for which a plugin
    keeps something.

    Raises:
        DeadlineExceededError: The caller no longer waits; nothing was reserved.
    """
    engine, reservations = cycle.engine, cycle.reservations
    plain = {index for index in set(indices) if _asks_nothing(*templates[index])}
    count = next((at for at, index in enumerate(indices) if index not in plain), len(indices))
    turns = uids[: reservations.try_turns(uids[:count])]
    placements: list[Placement] = []
    choices: Sequence[Choice] = ()
    try:
        count = _free(engine.state, turns)
        some = indices[:count], names[:count], turns[:count]
        choices = engine.decide_and_assume_in_turn(templates, *some, seed=seed, progress=progress)
        for index, name, uid, choice in zip(*some, choices, strict=False):
            template, profile = templates[index]
            pod = replace(template, metadata=replace(template.metadata, name=name, uid=uid))
            reservation = Reservation(Commit(profile, choice.notes, pod, choice.node_name or ""), owner=owner)
            if not cycle.reserve(reservation, progress).ok:
                break
            cycle.hold(reservation)
            placements.append(Placement(choice, reservation))
    except MooringError:
        if not choices:
            raise
    finally:
        for uid in turns[len(placements) : len(choices)]:
            engine.state.forget(uid)
        reservations.end_turns(turns)
    return placements


def _asks_nothing(pod: Pod, profile: Profile) -> bool:
    """Whether pods like ``pod`` may be placed, and no Reserve plugin keeps anything for them."""
    return _may_be_placed(pod) and all(enabled.plugin.keeps_nothing(pod) for enabled in profile.reserve)


def _may_be_placed(pod: Pod) -> bool:
    return not (pod.spec.node_name or pod.metadata.deletion_timestamp or pod.spec.scheduling_gates)


def _free(state: ClusterState, uids: Sequence[str]) -> int:
    """How many come before the first pod that, by what the state has of it, must not be placed."""
    records = state.snapshot.pods.records
    if records.keys().isdisjoint(uids):
        return len(uids)
    for at, uid in enumerate(uids):
        record = records.get(uid)
        if record is not None and (record.node_name or not _may_be_placed(record.kind.template)):
            return at
    return len(uids)
