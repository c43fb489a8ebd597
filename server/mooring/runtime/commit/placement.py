"""The outcome for a pod, and places for many pods in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from mooring.framework import Code, Pod, Status
from mooring.framework.state import ClusterState
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.extension_points import Commit, Committed
from mooring.runtime.commit.preconditions import may_be_placed
from mooring.runtime.commit.reservations import Reservation, Reservations, ReservedBatch
from mooring.runtime.cycle.choice import Choice, PlacedColumns
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile


class HeldPlace(NamedTuple):
    """The place that a pod has.

    Attributes:
        bound: Whether the pod is bound there; otherwise it is reserved, or being bound.
    """

    node_name: str
    bound: bool


class ReservedPod(NamedTuple):
    """The result of reserving a pod on a node.

    Attributes:
        status: Success, or why it has no place there.
        held: The place, if the pod had it already.
    """

    status: Status
    held: HeldPlace | None = None


class PlacedPod(msgspec.Struct, frozen=True):
    """The result of one pod.

    Attributes:
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


def place_held(state: ClusterState, reservations: Reservations, uid: str) -> HeldPlace | None:
    """Return the place of the pod with this UID; None when it has none."""
    record = state.snapshot.pods.get(uid)
    if record is not None and record.node_name:
        return HeldPlace(record.node_name, bound=uid not in reservations)
    # If the pod has just been deleted, its reservation may still have to end.
    reservation = reservations.find_reservation(uid)
    return None if reservation is None else HeldPlace(reservation.commit.node_name, bound=False)


def places_held(state: ClusterState, reservations: Reservations, uids: Sequence[str]) -> list[HeldPlace]:
    """Return the places of the first of these pods that have one and that no other call is working on."""
    found: list[HeldPlace] = []
    if not uids or (uids[0] not in reservations and state.snapshot.pods.get(uids[0]) is None):
        return found
    locked = uids[: reservations.try_lock_pods(uids)]
    try:
        for uid in locked:
            held = place_held(state, reservations, uid)
            if held is None:
                break
            found.append(held)
    finally:
        reservations.unlock_pods(locked)
    return found


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
) -> PlacedColumns:
    """Decide, assume and reserve the first of some pods, in their order, as one call for each would.

    A pod is its template with a name and a UID of its own. All that have a choice have a reservation; the
    first that has none is one that is locked, must not be placed, finds no node, or for which a plugin
    reserves something. Raises DeadlineExceededError if the caller no longer waits; nothing was reserved then.
    """
    engine, reservations = cycle.engine, cycle.reservations
    count = count_plain(templates, indices)
    locked = uids[: reservations.try_lock_pods(uids[:count])]
    try:
        # As in ``lock_pod``.
        (progress or NoDeadline()).check()
        count = count_free(engine.state, locked)
        some = indices[:count], names[:count], locked[:count]
        choices = engine.place_batch(templates, *some, seed=seed, progress=progress)
        if choices:
            own = indices[: len(choices)], names[: len(choices)], uids[: len(choices)]
            batch = ReservedBatch(templates, *own, choices.names, choices.sources, owner)
            _pass_reserve(engine, templates, own[0])
            cycle.hold_batch(batch)
    finally:
        reservations.unlock_pods(locked)
    return choices


def begin_placing_in_turn(
    cycle: BindingCycle,
    templates: Sequence[tuple[Pod, Profile]],
    indices: Sequence[int],
    pods: Sequence[Pod],
    *,
    progress: Progress | None,
) -> list[PlacedPod]:
    """Decide, assume and reserve the first of some pods, as ``reserve_in_turn`` does, to be bound at once.

    The caller owns the reservations; what has one stays locked. Profiles have no Permit plugin, and all
    templates are such that ``asks_nothing``. Raises DeadlineExceededError if the caller no longer waits;
    nothing was placed then.
    """
    engine, reservations = cycle.engine, cycle.reservations
    names, uids = [pod.metadata.name for pod in pods], [pod.metadata.uid for pod in pods]
    locked = uids[: reservations.try_lock_pods(uids)]
    placed: list[PlacedPod] = []
    try:
        count = count_free(engine.state, locked)
        some = indices[:count], names[:count], locked[:count]
        for at, choice in enumerate(engine.place_batch(templates, *some, progress=progress)):
            profile = templates[indices[at]][1]
            commit = Commit(profile, choice.written, pods[at], choice.node_name or "")
            busy = () if profile.reserves_for_pre_bind else None
            placed.append(PlacedPod(choice, Reservation(commit, busy=busy)))
        done = indices[: len(placed)]
        _pass_reserve(engine, templates, done)
        _pass_pre_flight(
            engine, templates, [index for index in done if templates[index][1].reserves_for_pre_bind]
        )
        reservations.add_reservations([one.reservation for one in placed if one.reservation is not None])
    finally:
        reservations.unlock_pods(locked[len(placed) :])
    return placed


def count_plain(templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int]) -> int:
    """Return how many pods, as template indices, come before one for which ``asks_nothing`` is false."""
    used = set(indices)
    plain = {index for index in used if asks_nothing(*templates[index])}
    if len(plain) == len(used):
        return len(indices)
    return next((at for at, index in enumerate(indices) if index not in plain), len(indices))


def asks_nothing(pod: Pod, profile: Profile) -> bool:
    """Return whether pods like ``pod`` may be placed, and no plugin reserves anything for them now."""
    return may_be_placed(pod) and not profile.reserves_now(pod)


def count_free(state: ClusterState, uids: Sequence[str]) -> int:
    """Return how many come before the first pod that the state doesn't let be placed."""
    records = state.snapshot.pods.records
    if records.keys().isdisjoint(uids):
        return len(uids)
    for at, uid in enumerate(uids):
        record = records.get(uid)
        if record is not None and (record.node_name or not may_be_placed(record.kind.base.template)):
            return at
    return len(uids)


def _pass_reserve(engine: Engine, templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int]) -> None:
    """Report Reserve for pods, by their templates' indices, for which no plugin reserves anything."""
    for profile, count in _counted(templates, indices):
        engine.calls(profile).pass_point("Reserve", profile.reserve, Code.SUCCESS, count)


def _pass_pre_flight(
    engine: Engine, templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int]
) -> None:
    """Report PreBindPreFlight likewise for pods for which no plugin has anything to do at PreBind."""
    for profile, count in _counted(templates, indices):
        engine.calls(profile).pass_point("PreBindPreFlight", profile.pre_bind, Code.SKIP, count)


def _counted(
    templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int]
) -> Iterator[tuple[Profile, int]]:
    """Yield the profiles of pods, each given by its template's index, and how many pods have each."""
    profiles = {profile.key: profile for _, profile in templates}
    counts = Counter[str]()
    for index, count in Counter(indices).items():
        counts[templates[index][1].key] += count
    for key, count in counts.items():
        yield profiles[key], count
