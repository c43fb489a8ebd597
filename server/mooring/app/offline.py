"""Decisions over manifests, without a server: why would a pod go where, and where do the pending ones go?"""

from __future__ import annotations

import dataclasses
import difflib
import gc
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.owners import belongs_to, owner_of
from mooring.cluster.api import ApiServer
from mooring.cluster.live_objects import read_live
from mooring.cluster.manifests import Manifests, load_manifests
from mooring.decisions.asking import PendingPod, ask_about
from mooring.framework import Code, Pod
from mooring.framework.errors import MooringError, NotFoundError, PluginFailureError
from mooring.framework.releases import Gates
from mooring.framework.state import ClusterState
from mooring.recordings.playback import Moment
from mooring.runtime.answers import ALL_NODES, CycleOptions, Explanation
from mooring.runtime.commit import explaining
from mooring.runtime.commit.asked_group import DecidedGroups
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.simulation import Result, Simulation, ending

log = logging.getLogger(__name__)

LISTED_PODS = 20
"""How many pods are named where the wanted one is unknown."""

LISTED_NODES = 5
"""How many nodes are named if a name could mean several."""

Objects = Iterable[str | Path] | ApiServer | Moment
"""The places from which objects are read once: manifests, a live cluster, or a recording."""

Shown = Callable[[Iterable[Pod], int], Iterable[Pod]]
"""Yields the pods of an iterable, given their number, and may show the progress."""


def engine_over(options: EngineOptions, paths: Objects) -> tuple[Engine, Manifests]:
    """As ``core_over``; returns the engine alone."""
    core, manifests = core_over(options, paths)
    return core.engine, manifests


def core_over(options: EngineOptions, paths: Objects) -> tuple[Core, Manifests]:
    """Build the engine that the options ask for, over the objects of manifests.

    Raises:
        ConfigError, RegistryError: The configuration or a plugin can't be used.
        InvalidArgumentError: A manifest can't be used; every fault is named.
        MooringError: The API server doesn't say what there is.
    """
    registry = registry_of(options)
    configuration = configuration_of(options, registry, pipe=True)
    core = build_core(options, registry, configuration)
    with _collector_paused():
        manifests = manifests_of(paths, options.gates)
        core.state.replace("manifests", manifests.objects)
    if not isinstance(paths, Moment):  # which has the values as they were
        core.measuring.read_files()
    if manifests.skipped:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(manifests.skipped.items()))
        log.warning("objects of these kinds are ignored: %s", kinds)
    for note in manifests.notes:
        log.warning("%s", note)
    return core, manifests


def manifests_of(paths: Objects, gates: Gates) -> Manifests:
    """Read the objects of manifests, of a live cluster or of a recording.

    Raises:
        InvalidArgumentError: A manifest can't be used; every fault is named.
        MooringError: The API server doesn't say what there is, or the recording can't be read.
    """
    if isinstance(paths, ApiServer):
        return Manifests(tuple(read_live(paths)), {})
    if isinstance(paths, Moment):
        return Manifests(tuple(paths.objects()), {})
    return load_manifests(paths, gates)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector: it takes a quarter of the time to load what mostly stays."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def explain_in(
    engine: Engine,
    pods: Sequence[Pod],
    name: str,
    *,
    profile: str = "",
    seed: int = 0,
    cycle: CycleOptions | None = None,
) -> Explanation:
    """Why the pod called ``name``, one of the pods in the engine's state, would go where.

    Args:
        engine: The engine.
        pods: The pods in its state.
        name: NAMESPACE/NAME, or a name in the default namespace.
        profile: The profile; "" = the one that the pod names.
        seed: Decides between nodes of equal totals.
        cycle: How much is evaluated.

    Raises:
        NotFoundError: There is no such pod, or no such profile.
    """
    pod = pod_named(name, pods)
    found = engine.profile(profile, pod)
    state = engine.state.fork()
    assigned = pod.spec.node_name
    if assigned:
        # The question is where it could be: neither its node nor its own use of it counts.
        state.discard(pod.metadata.uid)
        pod = pod.on_node("")
    return explained(engine, pod, found, seed=seed, state=state, cycle=cycle, assigned_node=assigned)


def explained(
    engine: Engine,
    pod: Pod,
    profile: Profile,
    *,
    seed: int,
    state: ClusterState | None = None,
    cycle: CycleOptions | None = None,
    warnings: tuple[str, ...] = (),
    assigned_node: str = "",
) -> Explanation:
    """Explain one pod's cycle; it may be on ``assigned_node``. A plugin's failure becomes the status."""
    try:
        explanation, _ = explaining.explained(
            engine,
            pod,
            profile,
            ALL_NODES,
            seed=seed,
            options=cycle or CycleOptions(),
            state=state,
            warnings=warnings,
            assigned_node=assigned_node,
        )
    except PluginFailureError as failure:
        of = pod.metadata
        return Explanation.of_failure(of.namespace, of.name, profile.name, seed, failure)
    return explanation


def pod_named(wanted: str, pods: Sequence[Pod]) -> Pod:
    """Return the pod called ``wanted``, NAMESPACE/NAME or a name in the default namespace.

    NAMESPACE/KIND/NAME is a workload: the first of its pods without a node, else the first one. Raises
    NotFoundError if there is none (POD_NOT_FOUND).
    """
    if wanted.count("/") == 2:
        return _pod_of(wanted, pods)
    key = wanted if "/" in wanted else f"default/{wanted}"
    for pod in pods:
        if pod.key == key:
            return pod
    meant = meant_pods(key, [pod.key for pod in pods], [pod.key for pod in pods if pod.pending])
    raise NotFoundError(f"no pod {key} in the manifests{meant}", reason="POD_NOT_FOUND", pod=key)


def _pod_of(workload: str, pods: Sequence[Pod]) -> Pod:
    """Return the first pod without a node of NAMESPACE/KIND/NAME, else its first one, and log their number.
    Raises NotFoundError if it has none (POD_NOT_FOUND).
    """
    namespace, kind, name = workload.split("/")
    own = [pod for pod in pods if pod.metadata.namespace == namespace and belongs_to(pod, kind, name)]
    if not own:
        owners = sorted({owner_of(pod) for pod in pods if pod.metadata.namespace == namespace} - {""})
        near = difflib.get_close_matches(f"{kind}/{name}", owners, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        key = f"{namespace}/{name}"
        raise NotFoundError(f"{kind} {key} has no pod{hint}", reason="POD_NOT_FOUND", pod=key)
    waiting = [pod for pod in own if pod.pending]
    chosen = (waiting or own)[0]
    count = f"{len(own)} pods, {len(waiting)} without a node"
    log.info("%s %s/%s has %s; this is %s", kind, namespace, name, count, chosen.metadata.name)
    return chosen


def meant_pods(wanted: str, known: Sequence[str], pending: Sequence[str]) -> str:
    """Return what a pod that isn't there may have been meant to be, else which pods are pending.

    Args:
        wanted: The requested NAMESPACE/NAME.
        known: All pods.
        pending: Those without a node, which are the ones that people ask about.
    """
    name = wanted.partition("/")[2]
    by_name: dict[str, list[str]] = {}
    for key in pending:
        by_name.setdefault(key.partition("/")[2], []).append(key)
    near = difflib.get_close_matches(name, by_name, 1)
    meant = [key for key in known if key.partition("/")[2] == name] or (by_name[near[0]] if near else [])
    if meant:
        return f"; did you mean {' or '.join(meant[:LISTED_PODS])}?"
    more = len(pending) - LISTED_PODS
    listed = ", ".join(pending[:LISTED_PODS]) + (f" and {more} more" if more > 0 else "")
    return f"; pending there: {listed or 'none'}"


def node_named(wanted: str, known: Collection[str]) -> str:
    """Return the node of that name, or the only one with a name that begins with it, as in tables. Raises
    NotFoundError if there is none, or several (NODE_NOT_FOUND).
    """
    begin = [wanted] if wanted in known else [name for name in known if name.startswith(f"{wanted}.")]
    begin = begin or [name for name in known if name.startswith(wanted)]
    if len(begin) == 1:
        return begin[0]
    if begin:
        more = ", ..." if len(begin) > LISTED_NODES else ""
        hint = f": {len(begin)} names begin with it, {', '.join(begin[:LISTED_NODES])}{more}"
    else:
        meant = difflib.get_close_matches(wanted, known, 1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
    raise NotFoundError(f"no node {wanted}{hint}", reason="NODE_NOT_FOUND", node=wanted)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one pod.

    Attributes:
        pod: NAMESPACE/NAME.
        code: OK if it has a node; ERROR if a plugin failed, so that it isn't known whether the pod fits.
        total: The node's total score, if more than one node was feasible.
        message: Why it has none.
        room_on: If it has no node, the node on which preemption could make room; "" = none.
        preempts: The pods, NAMESPACE/NAME, that it or its group preempted.
        preempted_by: The pod or group that preempted it; the rest is about the recreated pod.
        bound: It had a node from the beginning, and is listed because it was preempted.
        owner: The workload that it belongs to, such as Deployment/web; "" = none.
    """

    pod: str
    code: Code
    node: str | None = None
    total: int | None = None
    message: str = ""
    room_on: str = ""
    preempts: tuple[str, ...] = ()
    preempted_by: str = ""
    bound: bool = False
    owner: str = ""

    @property
    def failed(self) -> bool:
        """Whether a plugin failed."""
        return self.code is Code.ERROR


def place_in(
    engine: Engine,
    pods: Iterable[Pod],
    shown: Shown,
    *,
    profile: str = "",
    seed: int = 0,
    preempt: bool = True,
) -> list[Outcome]:
    """Place the pending pods in the engine's state, in the order of their queue. Preempted pods come last.

    Args:
        engine: The engine.
        pods: The pods; those of one priority are taken in this order, and those with a node are ignored.
        shown: Shows the progress.
        profile: The profile of every pod; "" = the one that each names.
        seed: Decides between nodes of equal totals.
        preempt: Whether more important pods preempt others, as in a cluster.

    Raises:
        NotFoundError: There is no such profile.
    """
    if profile:
        engine.profile(profile)
    queue = engine.profiles.in_queue_order(pod for pod in pods if pod.pending)
    profile_of = partial(engine.profiles.of_pod, profile)
    simulation = Simulation(engine, profile_of, seed=seed, preempt=preempt)
    for _ in shown(simulation.place(queue), len(queue)):
        pass
    placed = {pod.metadata.uid for pod in queue}
    went = {each.pod.metadata.uid: each.pod for each in simulation.preempted}
    outcomes = [_outcome(pod, simulation) for pod in queue]
    bound = [_outcome(pod, simulation) for uid, pod in went.items() if uid not in placed]
    return [*outcomes, *(dataclasses.replace(each, bound=True) for each in bound)]


def _outcome(pod: Pod, simulation: Simulation) -> Outcome:
    result, uid = simulation.result(pod), pod.metadata.uid
    by = next((each.preemptor for each in reversed(simulation.preempted) if each.pod.metadata.uid == uid), "")
    owner = owner_of(pod)
    if result is None:
        message = f"preempted by {by}"
        return Outcome(pod.key, Code.UNSCHEDULABLE, message=message, preempted_by=by, owner=owner)
    found = _outcome_of(pod, result)
    group = f"pod group {'/'.join(pod.group)}" if pod.group else ""
    preempts = (each.pod.key for each in simulation.preempted if each.preemptor in (f"pod {pod.key}", group))
    message = found.message
    if by:
        message = f"preempted by {by}, and recreated{f': {message}' if message else ''}"
    return dataclasses.replace(
        found,
        message=message,
        room_on=simulation.rooms.get(uid, ""),
        preempts=tuple(dict.fromkeys(preempts)),
        preempted_by=by,
        owner=owner,
    )


def _outcome_of(pod: Pod, result: Result) -> Outcome:
    status, message = ending(result)
    choice = None if isinstance(result, MooringError) else result.choice
    if not status.ok or choice is None:
        return Outcome(pod.key, status.code, message=message)
    return Outcome(pod.key, status.code, choice.node_name, choice.total if choice.feasible > 1 else None)


def pending_pods(
    options: EngineOptions,
    paths: Objects,
    wanted: Callable[[Pod], bool],
    shown: Shown,
    *,
    profile: str = "",
) -> tuple[Core, list[PendingPod]]:
    """Return the engine, and the wanted pods that have no node, in the order in which they are listed.

    Args:
        options: The engine's options.
        paths: The manifests' files and directories, or the API server of a live cluster.
        wanted: Whether a pod is evaluated.
        shown: Shows the progress.
        profile: The profile of every pod; "" = the one that each names.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError, MooringError: As ``core_over``.
    """
    core, manifests = core_over(options, paths)
    waiting = [pod for pod in manifests.pods if pod.pending and wanted(pod)]
    asked: Iterable[Pod] = shown(waiting, len(waiting))
    groups: DecidedGroups = {}
    return core, [ask_about(core.engine, pod, profile=profile, groups=groups) for pod in asked]
