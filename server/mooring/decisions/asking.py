"""The decision about a pending pod if it were made now; it is not remembered."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from mooring.decisions.reasons import why_of, why_of_status
from mooring.decisions.records import DecisionKind, DecisionResult, Details, NodeRejections, Record, Why
from mooring.decisions.summary import UnplacedPod
from mooring.framework import Code, Pod
from mooring.framework.errors import NotFoundError, PluginFailureError
from mooring.runtime.answers import (
    ALL_NODES,
    Document,
    Progress,
    candidates_of,
    keeping_room,
    mix64,
    preemption_document,
    seek_room,
)
from mooring.runtime.commit.asked_group import DecidedGroups, enqueued, held_by_group
from mooring.runtime.engine import Engine

ASKING_SECONDS = 2.0
"""The most time for one call; the caller may call again soon."""

FITS = "fits now: its scheduler has not placed it"


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node.

    Attributes:
        why: Why no node takes it; None if one does.
        node: The node that would be selected now; "" = none.
        feasible: How many nodes would take it.
        preemption: The nodes where preemption could make room; None = none.
        kept_for: The nominated pods that keep room from it.
    """

    pod: Pod
    why: Why | None
    node: str = ""
    feasible: int = 0
    preemption: Document | None = None
    kept_for: tuple[str, ...] = ()

    @property
    def stuck(self) -> bool:
        """Whether no node takes it, and preemption makes no room for it."""
        failed = self.why is None or self.why.code is Code.ERROR
        return not failed and not (self.preemption and self.preemption["node"])

    def unplaced(self) -> UnplacedPod:
        """Return the pod as one that has had no node since it was created."""
        metadata, why = self.pod.metadata, self.why
        result = DecisionResult.UNSCHEDULABLE
        if why is None:
            result, why = (
                DecisionResult.SCHEDULED,
                Why(Code.SUCCESS, message=FITS, dominant=NodeRejections("", FITS, self.feasible)),
            )
        elif why.code is Code.ERROR:
            result = DecisionResult.ERROR
        nominated = self.preemption["node"] if self.preemption else ""
        details = Details(result, why, nominated)
        now, since = time.time(), 0.0
        with suppress(ValueError):
            since = datetime.fromisoformat(metadata.creation_timestamp or "").timestamp()
        record = Record(now, now, DecisionKind.DRY_RUN, 0, self.pod, "", metadata.name, metadata.uid)
        record.written = details
        return UnplacedPod(0, record, since)


class UndecidedPods:
    """Decides now about pods without a known decision, in several turns. Safe from any thread.

    A decision holds until the state or the configuration changes.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, UnplacedPod] = {}
        self._groups: DecidedGroups = {}
        self._known_at: tuple[int, str] = (0, "")

    def ask(self, pods: Iterable[Pod], progress: Progress) -> list[UnplacedPod]:
        """Return the decisions about the pods, as ``ask_about``, as far as the time suffices."""
        now = self._engine.state.version, self._engine.profiles.configuration
        if now != self._known_at:
            self._known, self._groups, self._known_at = {}, {}, now
        known, groups, found = self._known, self._groups, list[UnplacedPod]()
        end = time.monotonic() + ASKING_SECONDS
        for pod in pods:
            answer = known.get(pod.metadata.uid)
            if answer is None and time.monotonic() < end:
                answer = ask_about(self._engine, pod, progress=progress, groups=groups).unplaced()
                known[pod.metadata.uid] = answer
            if answer is not None:
                found.append(answer)
        return found


def ask_about(
    engine: Engine,
    pod: Pod,
    *,
    profile: str = "",
    progress: Progress | None = None,
    groups: DecidedGroups | None = None,
) -> PendingPod:
    """Decide about a pod by itself in the cluster as it is now; nothing is changed. ``groups`` has the groups
    that were decided on this state before. ``profile`` "" = the one that the pod names.
    """
    try:
        asked = engine.profiles.of_pod(profile, pod)
        gate = enqueued(engine, pod, asked)
        if not gate.ok:
            return PendingPod(pod, why_of_status(gate))
        group = held_by_group(engine, pod, asked, progress=progress, decided=groups)
        if not group.status.ok:
            room = (group.room,) if group.room is not None else ()
            preemption = preemption_document(room[0].node_name if room else "", room)
            return PendingPod(pod, why_of_status(group.status), preemption=preemption)
        choice = engine.decide(pod, asked, ALL_NODES, progress=progress)
    except NotFoundError as error:
        return PendingPod(pod, Why(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message=error.message))
    except PluginFailureError as error:
        return PendingPod(pod, Why(Code.ERROR, message=error.message))
    if choice.node_name is None:
        found = choice.evaluation
        seek_room(found, engine.calls(asked), mix64(0, pod.metadata.uid))
        preemption = preemption_document(found.room_on, candidates_of(found))
        kept_for = tuple(dict.fromkeys(record.pod.key for _, record in keeping_room(found)))
        return PendingPod(pod, why_of(found), preemption=preemption, kept_for=kept_for)
    return PendingPod(pod, None, choice.node_name, choice.feasible)
