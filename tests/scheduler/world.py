"""A cluster in memory: a state, an API that writes to it, and the scheduler over both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.decisions.decisions import Decisions
from mooring.framework import BindOutcome, Node, ObjectReference, Plugin, Pod
from mooring.framework.errors import NotFoundError
from mooring.framework.handle import AlwaysLeader, BindingEnded, Leadership, SendingBinder
from mooring.framework.objects import Condition, PodGroup
from mooring.framework.releases import DEFAULT_KUBE_VERSION, Gates, KubeVersion
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.profiles.extender import Extender
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.scheduler.assembly import Collaborators, build_scheduler
from mooring.scheduler.queue import BackoffTimes
from mooring.telemetry.decision_metrics import MetricsObserver
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.scheduler_observer import SchedulerObserver
from mooring.tracing.spans import Tracer

from .fakes import FakeClock

SOURCE = "cluster"


class FakeCluster(SendingBinder):
    """Implements ``ClusterApi``, ``Binder`` and ``Sender`` over a state, which gets each write at once.

    Attributes:
        ready: Whether bindings can be sent ahead.
        answers: The thread that takes their answers.
        bindings: (pod name, node name) of every requested binding.
        events: (reason, pod name, note) of every Event.
        pods: All pods, by UID, as the API has them.
        groups: All pod groups, by name, as the API has them.
        deleted: The names of the pods that were deleted, in order.
        before_bind: Called before each binding; may raise.
        before_delete: The same for deletions.
        graceful: Deleted pods stay, with a deletion timestamp.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.bindings: list[tuple[str, str]] = []
        self.events: list[tuple[str, str, str]] = []
        self.deleted: list[str] = []
        self.before_bind: Callable[[Pod], None] = lambda _: None
        self.before_delete: Callable[[Pod], None] = lambda _: None
        self.graceful = False
        self.ready = True
        self.answers = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, PodGroup] = {}
        self._version = 0
        self._lock = threading.RLock()

    def put(self, *objects: Pod | Node | PodGroup) -> None:
        """Objects are there, or are now like this."""
        with self._lock:
            for item in objects:
                self._version += 1
                written = replace(item, metadata=replace(item.metadata, resource_version=str(self._version)))
                if isinstance(written, Pod):
                    self.pods[written.metadata.uid] = written
                if isinstance(written, PodGroup):
                    self.groups[written.metadata.name] = written
                self.state.apply(SOURCE, [Put(written)])

    def remove(self, item: Pod | PodGroup) -> None:
        """The pod or group is gone."""
        meta = item.metadata
        with self._lock:
            self.pods.pop(meta.uid, None)
            if isinstance(item, PodGroup):
                del self.groups[meta.name]
            self.state.apply(SOURCE, [Remove(type(item).__name__, meta.namespace, meta.name, meta.uid)])

    def named(self, name: str) -> Pod:
        """Return the pod of that name."""
        return next(pod for pod in self.pods.values() if pod.metadata.name == name)

    def node_of(self, name: str) -> str:
        """Return the node that the pod is bound to, "" without one."""
        return self.named(name).spec.node_name

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        self.bindings.append((pod.metadata.name, node_name))
        self.before_bind(pod)
        self.bound(pod, node_name)
        return BindOutcome.BOUND

    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        self.answers.submit(self._answer, pod, node_name, ended)
        return True

    def open_ahead(self) -> bool:
        return self.ready

    def _answer(self, pod: Pod, node_name: str, ended: BindingEnded) -> None:
        try:
            outcome = self.bind(pod, node_name)
        except Exception as error:  # noqa: BLE001 - raised where the answer is taken
            failure = error

            def tell() -> BindOutcome:
                raise failure

            ended(tell)
        else:
            ended(outcome)

    def bound(self, pod: Pod, node_name: str, *, deliver: bool = True) -> None:
        """The API has bound the pod; the state may hear of it later, by ``deliver``."""
        now = self.pods[pod.metadata.uid]
        self.pods[pod.metadata.uid] = replace(now, spec=replace(now.spec, node_name=node_name))
        if deliver:
            self.put(self.pods[pod.metadata.uid])

    def deliver(self) -> None:
        """The state hears of everything."""
        self.put(*self.pods.values())

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        found = (pod for pod in self.pods.values() if pod.key == f"{namespace}/{name}")
        return next(found, None)

    def delete_pod(self, pod: Pod) -> None:
        self.deleted.append(pod.metadata.name)
        self.before_delete(pod)
        if self.graceful:
            leaving = "2026-01-01T00:00:00Z"
            self._change(
                pod, lambda now: replace(now, metadata=replace(now.metadata, deletion_timestamp=leaving))
            )
        else:
            self.remove(pod)

    def patch_pod_status(self, pod: Pod, patch: Mapping[str, Any]) -> None:
        def patched(now: Pod) -> Pod:
            kept = {condition.type: condition for condition in now.status.conditions}
            for given in patch.get("conditions", ()):
                known = {key: given.get(key, "") for key in ("type", "status", "reason", "message")}
                kept[given["type"]] = Condition(**known)
            status = replace(now.status, conditions=tuple(kept.values()))
            if "nominatedNodeName" in patch:
                status = replace(status, nominated_node_name=patch["nominatedNodeName"] or "")
            return replace(now, status=status)

        self._change(pod, patched)

    def read(self, target: ObjectReference) -> dict[str, Any] | None:
        group = self.groups.get(target.name) if target.kind == "PodGroup" else None
        if group is None:
            return None
        meta = group.metadata
        conditions = [
            {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
            for each in group.status.conditions
        ]
        metadata = {"name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version}
        return {"metadata": metadata, "status": {"conditions": conditions}}

    def patch(
        self, target: ObjectReference, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if target.kind == "PodGroup":
            group = self.groups[target.name]
            assert target.resource_version == group.metadata.resource_version
            conditions = tuple(
                Condition(each["type"], each["status"], each["reason"], each["message"])
                for each in patch["status"]["conditions"]
            )
            self.put(replace(group, status=replace(group.status, conditions=conditions)))
        return {}

    def set_finalizers(self, target: ObjectReference, finalizers: Sequence[str]) -> dict[str, Any]:
        return self.patch(target, {"metadata": {"finalizers": list(finalizers)}})

    def delete(self, target: ObjectReference) -> None:
        raise AssertionError(f"nobody deletes a {target.kind} here")

    def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> dict[str, Any]:
        assert kind == "Event"
        self.events.append((body["reason"], body["regarding"]["name"], body["note"]))
        return dict(body)

    def _change(self, pod: Pod, change: Callable[[Pod], Pod]) -> None:
        with self._lock:
            now = self.pods.get(pod.metadata.uid)
            if now is None:
                raise NotFoundError(f"pod {pod.key} is gone", reason="POD_NOT_FOUND")
            self.put(change(now))


def configuration(plugins: Sequence[type[Plugin[Any]]], names: Sequence[str]) -> dict[str, Any]:
    """Return the default profile under each of ``names``, with more plugins."""
    enabled = [{"name": plugin.name} for plugin in plugins]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": name, "plugins": {"multiPoint": {"enabled": enabled}}} for name in names
        ],
    }


class World:
    """The scheduler, step by step: ``settle`` lets it do all that it can do now.

    Args:
        plugins: Enabled in addition to the default ones.
        nodes: The cluster's nodes.
        schedulers: The names of the profiles.
        leadership: Whether anything may be committed.
        gates: Feature gates that differ from the release's.
        extenders: They take part in the decisions.
        observer: Takes measurements.
        attempt_seconds: The most seconds of an attempt.
        version: The release.
        tracer: Decides which attempts are traced.
        decisions: Where attempts are noted.
    """

    def __init__(
        self,
        *plugins: type[Plugin[Any]],
        nodes: Iterable[Node] = (),
        schedulers: Sequence[str] = ("default-scheduler",),
        leadership: Leadership | None = None,
        gates: Mapping[str, bool] | None = None,
        extenders: Sequence[Extender] = (),
        observer: SchedulerObserver | None = None,
        attempt_seconds: float = 0.0,
        version: str = DEFAULT_KUBE_VERSION,
        tracer: Tracer | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.state = State()
        self.cluster = FakeCluster(self.state)
        registry = new_in_tree_registry()
        for plugin in plugins:
            registry.register(plugin.name, plugin)
        document = configuration(plugins, schedulers)
        config = from_document(document, registry.catalog(), kube_version=version, feature_gates=gates)
        engine = build_engine(
            config,
            registry,
            self.state,
            self.cluster,
            cluster=self.cluster,
            kube_version=version,
            feature_gates=gates,
            extenders=extenders,
            exclusive=True,
            observer=MetricsObserver(Metrics()),
        )
        leads = leadership or AlwaysLeader()
        self.cycle = BindingCycle(engine, leadership=leads, api=self.cluster, clock=self.clock)
        around = Collaborators(
            engine=engine,
            committer=Committer(self.cycle),
            cluster=self.cluster,
            events=self.cluster,
            leadership=leads,
            gates=Gates(KubeVersion.parse(version), gates),
            observer=observer or SchedulerObserver(),
            clock=self.clock,
            tracer=tracer,
            decisions=decisions,
            sender=self.cluster,
        )
        self.scheduler = build_scheduler(around, BackoffTimes(), binders=1, attempt_seconds=attempt_seconds)
        self.queue = self.scheduler.queue
        self.cluster.put(*nodes)

    def add(self, *objects: Pod | Node | PodGroup) -> None:
        """Objects are made or changed, and the scheduler does what it can."""
        self.cluster.put(*objects)
        self.settle()

    def settle(self) -> None:
        """Let the scheduler do all that it can do now."""
        quiet = 0
        while quiet < 2:
            quiet = 0 if self.scheduler.try_next() == 0 else quiet + 1
            self._finish_threads()

    def wait(self, seconds: float) -> None:
        """Time goes by, second by second."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
            self.settle()

    def reasons(self, name: str) -> list[str]:
        """Return the reasons of the Events about the pod, in order."""
        return [reason for reason, pod, _ in self.cluster.events if pod == name]

    def _finish_threads(self) -> None:
        components = self.scheduler._components
        binders = self.cluster.answers, self.scheduler._binders._pool
        pools = (*binders, components.preemptions._deleters, components.group_statuses._writer)
        for pool in (*pools, *components.failures.statuses._writers):
            pool.submit(lambda: None).result()
        waiting = components.recorder._waiting
        while not waiting.empty():
            happened = waiting.get()
            assert happened is not None
            components.recorder._write(*happened)
