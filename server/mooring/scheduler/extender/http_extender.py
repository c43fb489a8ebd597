"""One extender over HTTP. Mirrors ``HTTPExtender`` in ``pkg/scheduler/extender.go``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from mooring.config.show import without_secrets
from mooring.config.types import ExtenderStanza
from mooring.framework import SUCCESS, Pod, Status
from mooring.framework.errors import PluginUnavailableError
from mooring.framework.objects.pod import Container
from mooring.framework.preemption import Candidate
from mooring.runtime.profiles.extender import FilterAnswer, MetaVictims, extender_failure
from mooring.scheduler.extender import wire
from mooring.scheduler.extender.transport import Transport, TransportError
from mooring.scheduler.extender.wire import AnswerError

_OK = 200

T = TypeVar("T")


class StoredManifests(Protocol):
    """Objects as JSON, as the API server has them, without kind and API version. Safe from any thread."""

    def pod(self, pod: Pod) -> bytes:
        """Return the pod of that UID, without its managed fields. Raises NotFoundError if it is gone
        (POD_NOT_FOUND).
        """
        ...

    def node(self, name: str) -> bytes:
        """Return the node. Raises NotFoundError if it is gone (NODE_NOT_FOUND)."""
        ...


class HttpExtender:
    """Implements ``mooring.runtime.profiles.extender.Extender``."""

    def __init__(self, stanza: ExtenderStanza, transport: Transport, manifests: StoredManifests) -> None:
        self.name = without_secrets(stanza.url_prefix)
        self.weight = stanza.weight
        self.ignorable = stanza.ignorable
        self.filters = bool(stanza.filter_verb)
        self.prioritizes = bool(stanza.prioritize_verb)
        self.binds = bool(stanza.bind_verb)
        self.preempts = bool(stanza.preempt_verb)
        self._stanza = stanza
        self._managed = frozenset(resource.name for resource in stanza.managed_resources)
        self._transport = transport
        self._manifests = manifests

    def is_interested(self, pod: Pod) -> bool:
        """Return whether a container or init container names one of the extender's resources."""
        return not self._managed or any(map(self._manages, (*pod.spec.containers, *pod.spec.init_containers)))

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterAnswer:
        verb, by_name = self._stanza.filter_verb, self._stanza.node_cache_capable
        body = self._post(verb, self._asking(pod, node_names), "Filter")
        answer, error = self._read(lambda: wire.read_filter(body, by_name=by_name), verb, "Filter")
        if error:
            raise extender_failure(self.name, "Filter", error)
        asked = frozenset(node_names)
        for name in answer.node_names:
            if name not in asked:
                raise extender_failure(
                    self.name,
                    "Filter",
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input '
                    "node list",
                )
        return answer

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        verb = self._stanza.prioritize_verb
        body = self._post(verb, self._asking(pod, node_names), "Score")
        return self._read(lambda: wire.read_scores(body), verb, "Score")

    def bind(self, pod: Pod, node_name: str) -> Status:
        verb = self._stanza.bind_verb
        body = self._post(verb, wire.binding(pod, node_name), "Bind")
        error = self._read(lambda: wire.read_binding(body), verb, "Bind")
        return Status.error(error).by(self.name) if error else SUCCESS

    def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, MetaVictims]:
        verb = self._stanza.preempt_verb
        body = self._post(verb, self._preempting(pod, candidates), "PostFilter")
        return self._read(lambda: wire.read_victims(body), verb, "PostFilter")

    def _manages(self, container: Container) -> bool:
        resources = container.resources
        return not self._managed.isdisjoint((*resources.requests, *resources.limits))

    def _asking(self, pod: Pod, node_names: Sequence[str]) -> bytes:
        document = self._manifests.pod(pod)
        if self._stanza.node_cache_capable:
            return wire.asking_by_name(document, node_names)
        return wire.asking_by_node(document, [self._manifests.node(name) for name in node_names])

    def _preempting(self, pod: Pod, candidates: Iterable[Candidate]) -> bytes:
        document = self._manifests.pod(pod)
        if not self._stanza.node_cache_capable:
            whole = {
                entry.node_name: (list(map(self._manifests.pod, entry.victims)), entry.violations)
                for entry in candidates
            }
            return wire.preempting_by_pod(document, whole)
        named = {
            entry.node_name: MetaVictims([pod.metadata.uid for pod in entry.victims], entry.violations)
            for entry in candidates
        }
        return wire.preempting_by_uid(document, named)

    def _post(self, verb: str, body: bytes, point: str) -> bytes:
        """Return the body of the extender's answer; it raises when there is none, or none with 200."""
        try:
            answer = self._transport.post(verb, body, self._stanza.http_timeout.total_seconds())
        except TransportError as error:
            raise PluginUnavailableError(str(error), plugin=self.name, extension_point=point) from error
        if answer.status != _OK:
            said = f"failed {verb} with extender at URL {self._transport.url(verb)}, code {answer.status}"
            raise extender_failure(self.name, point, said)
        return answer.body

    def _read(self, read: Callable[[], T], verb: str, point: str) -> T:
        try:
            return read()
        except AnswerError as error:
            said = f"extender {self.name} answered {verb} with an unreadable body: {error}"
            raise extender_failure(self.name, point, said) from error
