"""Pods at the head of the queue that are decided in one step, each with the result of a step of its own.

Taking a pod, deciding and handing it on costs several times what the decision does. Nothing happens
between the decisions of such a step: events observed meanwhile go to the queue after it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from msgspec.structs import replace

from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.framework.pod_table import PodBase, PodRecord
from mooring.runtime.commit.placement import PlacedPod, asks_nothing
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.attempt import Attempt
from mooring.scheduler.binding import Binders, PlacedAttempt
from mooring.scheduler.components import Components
from mooring.scheduler.queue import QueuedPod

log = logging.getLogger(__name__)

MOST_PODS = 16
"""Pods of one step. With more, answers wait longer for the interpreter, and fewer pods are bound a second."""


class HeadBatch:
    """Decides several pods in one step. For the thread that decides."""

    def __init__(self, components: Components, binders: Binders) -> None:
        self._components = components
        self._binders = binders

    def place_some(self, attempt: Attempt) -> bool:
        """Place the pod of ``attempt`` and the pods after it; return whether it got a node.

        Others that got none are back in the queue.
        """
        first, profile, start = attempt.item, attempt.profile, attempt.start or 0
        if profile.permit or profile.extenders or self._components.tracer is not None:
            return False
        queue, engine = self._components.queue, self._components.engine
        sieve = _Sieve(profile, engine.state.snapshot.pods.records)
        others = queue.pop_more(sieve.take, MOST_PODS - 1) if sieve.take(first) else []
        if not others:
            return False
        items, placed = [first, *others], list[PlacedPod]()
        try:
            placed = self._components.committer.begin_placing_in_turn(
                sieve.templates, sieve.indices, [item.pod for item in items], attempt.budget
            )
        except MooringError as error:
            # The pod that causes it gets the error when it is tried alone.
            log.debug("deciding about %d pods in one step: %s", len(items), error)
        finally:
            queue.put_back(items[max(1, len(placed)) :])
        attempts, nodes = [], max(1, len(engine.state.snapshot.nodes.index))
        for item, one in zip(items, placed, strict=False):
            attempts.append(PlacedAttempt(replace(attempt, item=item, start=start), one))
            start = (start + one.choice.evaluated) % nodes
        self._binders.begin_bindings(attempts)
        return bool(placed)


class _Sieve:
    """Takes consecutive pods of a profile that need nothing but a node, and finds those that are alike.

    Attributes:
        templates: A pod for each kind of those that were taken, and the profile.
        indices: For each pod taken, the index of its template in this list.
    """

    def __init__(self, profile: Profile, records: Mapping[str, PodRecord]) -> None:
        self.templates: list[tuple[Pod, Profile]] = []
        self.indices: list[int] = []
        self._profile = profile
        self._records = records
        self._kinds: dict[int, int] = {}
        self._wanted: dict[int, bool] = {}

    def take(self, item: QueuedPod) -> bool:
        """Take the pod if it is one of them."""
        pod, record = item.pod, self._records.get(item.uid)
        # The queued object may be older than the state's.
        if record is None or record.node_name or record.resource_version != pod.metadata.resource_version:
            return False
        index = self._kinds.get(id(record.kind))
        if index is None:
            if not self._takes(pod, record.kind.base):
                return False
            index = self._kinds[id(record.kind)] = len(self.templates)
            self.templates.append((pod, self._profile))
        self.indices.append(index)
        return True

    def _takes(self, pod: Pod, base: PodBase) -> bool:
        """Return whether pods of this base, which may differ in labels, are wanted; the pod is one."""
        found = self._wanted.get(id(base))
        if found is None:
            own = pod.spec.scheduler_name == self._profile.name
            found = self._wanted[id(base)] = own and pod.group is None and asks_nothing(pod, self._profile)
        return found
