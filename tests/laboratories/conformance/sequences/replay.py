"""mooring takes the steps of a sequence, and is compared with kube-scheduler's decisions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Gates, KubeVersion, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.interface import PreemptingPlugin
from mooring.framework.pod_requests import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.evaluation import NOT_EVALUATED, Evaluation
from mooring.runtime.cycle.full_cycle import select
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.cycle.post_filter import preempt
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.scheduler.messages import NOTE_LIMIT, shortened
from mooring.testing.question import NoBinder
from tests.laboratories.conformance.families.draft import Manifest

SOURCE = "sequence"


def differences(sequence: Manifest, decisions: list[Manifest | None], version: str) -> list[str]:
    """Return mooring's differences from kube-scheduler, step by step; it continues from kube-scheduler's
    state.
    """
    gates = Gates(KubeVersion.parse(version), sequence.get("feature_gates"))
    state, engine = _cluster(sequence, version, gates)
    for at, (step, decided) in enumerate(zip(sequence["steps"], decisions, strict=True)):
        if decided is None:
            _change(state, step)
            continue
        pod = pod_from_manifest(step["pod"], (), gates)
        try:
            choice = _decide(engine, pod)
        except PluginFailureError:
            return (
                [] if decided["code"] == "Error" else [f"steps[{at}]: mooring fails, kube-scheduler does not"]
            )
        if decided["code"] == "Error":
            return [f"steps[{at}]: only kube-scheduler fails: {decided['message']}"]
        if _at_random(choice.evaluation) or "from cycleState: not found" in decided["message"]:
            # A Filter plugin without its PreFilter fails each side in its own words.
            return []
        if decided["nominated"] and choice.evaluation.post_filter.ok:
            _announce(engine, pod, choice, decided)
        if found := [f"steps[{at}].{line}" for line in _compared(choice, decided)]:
            return found
        _follow(state, pod, choice, decided)
    return []


def _cluster(sequence: Manifest, version: str, gates: Gates) -> tuple[State, Engine]:
    registry, switched = new_in_tree_registry(), sequence.get("feature_gates")
    state = State(rules=ResourceRules.of(gates))
    state.replace(SOURCE, objects_from(sequence["objects"], gates).objects)
    configuration = from_document(
        sequence["config"], registry.catalog(), kube_version=version, feature_gates=switched
    )
    return state, build_engine(
        configuration, registry, state, NoBinder(), kube_version=version, feature_gates=switched
    )


def _change(state: State, step: Manifest) -> None:
    if "remove_node" in step:
        state.apply(SOURCE, [Remove("Node", "", step["remove_node"])])
    else:
        state.apply(SOURCE, [Put(node) for node in objects_from([step["add_node"]]).objects])


def _decide(engine: Engine, pod: Pod) -> Choice:
    """Return the choice with all that led to it; the pod is assumed."""
    profile = engine.profile(pod=pod)
    run = partial(evaluate, options=CycleOptions(start=engine.start))
    full = select(*engine.evaluate(pod, profile, ALL_NODES, run=run), seed=0)
    kept = engine.place(pod, profile, ALL_NODES)
    # Not all of each: the source of one may be a kept evaluation, which doesn't know how every node did.
    left, right = ((each.node_name, each.tie_count, each.evaluated, each.feasible) for each in (full, kept))
    if left != right:
        raise AssertionError(f"pod {pod.key}: {right} from a kept evaluation, {left} in full")
    return full


def _at_random(evaluation: Evaluation) -> bool:
    """Return whether kube-scheduler evaluates some of the nodes that PreFilter names, in no order."""
    named = any(outcome.nodes is not None for outcome in evaluation.written.prefilter.values())
    return named and evaluation.advance > 0 and NOT_EVALUATED in evaluation.statuses


def _announce(engine: Engine, pod: Pod, choice: Choice, decided: Manifest) -> None:
    """Let the message say that there is room where kube-scheduler made it: which of equals is random."""
    profile = engine.profile(pod=pod)
    plugins = [each.plugin for each in profile.post_filter if isinstance(each.plugin, PreemptingPlugin)]
    if not plugins:
        # The nomination is one that the pod came with.
        return
    (plugin,) = plugins
    found = preempt(choice.evaluation, engine.calls(profile, NoDeadline()), None, engine.start)
    for candidate in found.candidates:
        if candidate.node_name == decided["nominated"]:
            choice.evaluation.room_is_made = plugin.announce(candidate)


def _compared(choice: Choice, decided: Manifest) -> Iterator[str]:
    evaluation = choice.evaluation
    message = evaluation.message
    pairs: dict[str, tuple[object, object]] = {
        "message": (message, decided["message"]),
        "event": (shortened(message, NOTE_LIMIT), decided["event"]),
    }
    if decided["host"]:
        names = evaluation.snapshot.nodes.names
        ties = {names[row] for row in choice.ties.tolist()}
        pairs["feasible"] = (len(evaluation.feasible), decided["feasible"])
        pairs["evaluated"] = (evaluation.evaluated, decided["evaluated"])
        pairs["host in ties"] = (decided["host"] in ties, True)
        if decided["nodes"]:
            feasible = sorted(names[row] for row in evaluation.rows[evaluation.feasible].tolist())
            pairs["nodes"] = (feasible, decided["nodes"])
    for what, (ours, theirs) in pairs.items():
        if ours != theirs:
            yield f"{what}: mooring {ours!r}, kube-scheduler {theirs!r}"


def _follow(state: State, pod: Pod, choice: Choice, decided: Manifest) -> None:
    """Go on from kube-scheduler's choice, which among equals is random, and from its nomination."""
    host = decided["host"]
    if not host:
        status = replace(pod.status, nominated_node_name=decided["nominated"])
        state.apply(SOURCE, [Put(replace(pod, status=status))])
    elif host != choice.node_name:
        state.forget(pod.metadata.uid)
        state.assume(pod, host)
