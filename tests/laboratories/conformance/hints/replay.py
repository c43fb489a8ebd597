"""mooring's answers to a question, in the oracle's words, and their differences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    Gates,
    HintedEvent,
    KubeVersion,
    ObjectChange,
    Plugin,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import POD_EVENTS_APART_SINCE
from mooring.framework.pod_requests import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.registry import Registry, new_in_tree_registry
from mooring.scheduler.queue.cluster_events import as_scheduler_sees, concerns, events_of, nomination_ended
from mooring.testing.question import NoBinder
from tests.laboratories.conformance.families.draft import Manifest

HINTS = {QueueingHint.QUEUE: "Queue", QueueingHint.SKIP: "QueueSkip"}
OF_RULES = {
    EventResource.DAEMON_SET,
    EventResource.MEASUREMENT,
    EventResource.NAMESPACE,
    EventResource.POD_DISRUPTION_BUDGET,
    EventResource.PRIORITY_CLASS,
    EventResource.REPLICATION_CONTROLLER,
    EventResource.REPLICA_SET,
    EventResource.RESOURCE_CLAIM_TEMPLATE,
    EventResource.SERVICE,
    EventResource.STATEFUL_SET,
    EventResource.WORKLOAD,
}
"""Resources that rules alone register for: kube-scheduler has no events of them."""

RELEASED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
Registered = dict[str, tuple[HintedEvent, ...]]


def differences(question: Manifest, answer: Manifest, version: str) -> Iterator[str]:
    """Yield mooring's differences. A plugin that is named but runs nowhere is in the answer alone."""
    gates = Gates(KubeVersion.parse(version), question["feature_gates"])
    registered, pod, permitted = _prepared(question, version)
    if permitted != answer.get("permit"):
        yield f"permit: mooring {permitted}, kube-scheduler {answer.get('permit')}"
    for plugin, entries in registered.items():
        heard, known = (
            sorted(_name(entry.event, version) for entry in entries),
            answer["registered"].get(plugin),
        )
        if heard != sorted(known or []):
            yield f"registered {plugin}: mooring {heard}, kube-scheduler {known}"
    for at, (change, said) in enumerate(zip(question["changes"], answer["changes"], strict=True)):
        if "error" in said:
            continue
        happened = ObjectChange(_kind(change), _side(change["old"]), _side(change["new"]))
        events = _events(happened, gates)
        names = [_name(event, version) for event in events]
        if names != said["events"]:
            yield f"changes[{at}]: mooring {names}, kube-scheduler {said['events']}"
            continue
        ours = _hints(registered, events, pod, happened, version)
        theirs = {key: hint for key, hint in said["hints"].items() if key.split(" ")[0] in registered}
        if ours != theirs:
            wrong = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
            yield f"changes[{at}]: " + ", ".join(
                f"{key}: mooring {ours.get(key)}, kube-scheduler {theirs.get(key)}" for key in wrong
            )


def _prepared(question: Manifest, version: str) -> tuple[Registered, Pod, Manifest | None]:
    """Return the events of the plugins that register some, the pod, and GangScheduling's verdict on it."""
    gates, catalog = question["feature_gates"], _registry().catalog()
    objects = objects_from(question["objects"]).objects
    state = State(rules=ResourceRules.of(Gates(KubeVersion.parse(version), gates)))
    state.replace("question", objects)
    configuration = (
        default(catalog, kube_version=version, feature_gates=gates)
        if question["config"] is None
        else from_document(question["config"], catalog, kube_version=version, feature_gates=gates)
    )
    engine = build_engine(
        configuration, _registry(), state, NoBinder(), kube_version=version, feature_gates=gates
    )
    pod = pod_from_manifest(question["pod"], objects)
    profile = engine.profile(question["profile"] or "", pod)
    running: list[Enabled[Any]] = [*profile.pre_enqueue, *profile.pre_filter, *profile.filter]
    running += [*profile.reserve, *profile.permit]
    registered = {
        entry.name: tuple(entry.plugin.events_to_register())
        for entry in running
        if type(entry.plugin).events_to_register is not Plugin.events_to_register
    }
    return registered, pod, _permitted(profile, state, pod)


def _permitted(profile: Profile, state: State, pod: Pod) -> Manifest | None:
    """Return the word on the pod when it has the first node; None without the plugin or without nodes."""
    plugins = [entry.plugin for entry in profile.permit if entry.name == "GangScheduling"]
    names = sorted(state.snapshot.nodes.index)
    if not plugins or not names:
        return None
    state.assume(pod, names[0])
    status, seconds = plugins[0].permit(CycleState(), pod, names[0])
    state.forget(pod.metadata.uid)
    return {"code": status.code.label, "plugin": "", "reasons": list(status.reasons), "seconds": seconds}


@cache
def _registry() -> Registry:
    return new_in_tree_registry()


def _kind(change: Manifest) -> str:
    return str((change["new"] or change["old"])["kind"])


def _side(manifest: Manifest | None) -> object:
    """Return the object before or after; a pod that changes is past its admission, where tolerations are
    added.
    """
    if manifest is None:
        return None
    if manifest["kind"] == "Pod":
        metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", **manifest["metadata"]}
        manifest = {**manifest, "metadata": metadata}
    return objects_from([manifest]).objects[0]


def _events(change: ObjectChange, gates: Gates) -> tuple[ClusterEvent, ...]:
    seen = as_scheduler_sees(change)
    found = events_of(seen, gates) if seen is not None else ()
    events = tuple(event for event in found if event.resource not in OF_RULES)
    released = change.kind == "Pod" and change.new is None and nomination_ended(change.old, None)
    return (*events, RELEASED) if released else events


def _hints(
    registered: Registered, events: tuple[ClusterEvent, ...], pod: Pod, change: ObjectChange, version: str
) -> dict[str, str]:
    new = change.new
    own = isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid
    asked = new if own else pod
    return {
        f"{plugin} {_name(event, version)}": HINTS[_hint(entry, asked, change)]
        for event in events
        for plugin, entries in registered.items()
        for entry in entries
        if concerns(entry.event, event) and (own or event.resource is not EventResource.TARGET_POD)
    }


def _hint(entry: HintedEvent, pod: Pod, change: ObjectChange) -> QueueingHint:
    """By the queue's rule: without a hint, and when it raises, the pod is tried again."""
    try:
        return QueueingHint.QUEUE if entry.hint is None else entry.hint(pod, change.old, change.new)
    except ValueError:
        return QueueingHint.QUEUE


def _name(event: ClusterEvent, version: str) -> str:
    """Return the event as the oracle writes it."""
    actions = set()
    if ActionType.UPDATE in event.action or event.action == ActionType.UPDATE_OTHER:
        actions.add("Update")
    rest = event.action & ~ActionType.UPDATE if "Update" in actions else event.action
    actions |= {str(action.name).title().replace("_", "") for action in rest}
    resource = event.resource.rpartition("/")[2]
    if KubeVersion.parse(version) < POD_EVENTS_APART_SINCE:
        resource = resource.replace("UnscheduledPod", "UnschedulablePod")
    return f"{resource} {'|'.join(sorted(actions))}"
