"""The pods without a node of manifests or of a live cluster, and why: each asked about by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from mooring.app.offline import Objects, Shown, engine_over
from mooring.app.options import EngineOptions
from mooring.decisions.reasons import why_of, why_of_status
from mooring.decisions.records import NodeRejections, Why
from mooring.framework import Code, Pod
from mooring.framework.errors import NotFoundError, PluginFailureError
from mooring.runtime.commit.asked_group import enqueued
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.explain import Document, keeping_room, preemption_document
from mooring.runtime.cycle.post_filter import pick_node, seek_room
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.engine import Engine

FITS = "fits now: its scheduler has not placed it"


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node.

    Attributes:
        pod: The pod.
        why: Why no node takes it; None where one does.
        node: The one that would be selected now, "" without one.
        feasible: How many would take it.
        preemption: Where preemption could make room; None = nowhere.
        kept_for: The nominated pods for which room is kept from it.
    """

    pod: Pod
    why: Why | None
    node: str = ""
    feasible: int = 0
    preemption: Document | None = None
    kept_for: tuple[str, ...] = ()

    @property
    def dominant(self) -> NodeRejections:
        """The reason that rejects the most nodes, or the pod as a whole; of a pod that fits, who takes it."""
        if self.why is None:
            return NodeRejections("", FITS, self.feasible)
        return self.why.dominant or NodeRejections(self.why.plugin, self.why.message, 0)


def pending_pods(
    options: EngineOptions,
    paths: Objects,
    wanted: Callable[[Pod], bool],
    shown: Shown,
    *,
    profile: str = "",
) -> list[PendingPod]:
    """Return the wanted pods that have no node, in the order in which they are listed.

    Args:
        options: What decides.
        paths: The manifests' files and directories, or the API server of a live cluster.
        wanted: Whether a pod is asked about.
        shown: Shows the progress.
        profile: The profile of every pod; "" = the one that each names.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError, MooringError: As ``core_over``.
    """
    engine, manifests = engine_over(options, paths)
    waiting = [pod for pod in manifests.pods if pod.pending and wanted(pod)]
    asked: Iterable[Pod] = shown(waiting, len(waiting))
    return list(map(partial(_asked, engine, profile), asked))


def _asked(engine: Engine, profile_name: str, pod: Pod) -> PendingPod:
    try:
        profile = engine.profiles.of_pod(profile_name, pod)
        gate = enqueued(engine, pod, profile)
        if not gate.ok:
            return PendingPod(pod, why_of_status(gate))
        choice = engine.decide(pod, profile, ALL_NODES)
    except NotFoundError as error:
        return PendingPod(pod, Why(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message=error.message))
    except PluginFailureError as error:
        return PendingPod(pod, Why(Code.ERROR, message=error.message))
    if choice.node_name is None:
        found = choice.evaluation
        seek_room(found, engine.calls(profile), mix64(0, pod.metadata.uid), partial(pick_node, pod))
        candidates = found.preemption.candidates if found.preemption is not None else ()
        preemption = preemption_document(found.room_on, candidates)
        kept_for = tuple(dict.fromkeys(record.pod.key for _, record in keeping_room(found)))
        return PendingPod(pod, why_of(found), preemption=preemption, kept_for=kept_for)
    return PendingPod(pod, None, choice.node_name, choice.feasible)
