"""Bindings: to the API server, or into the local state without one.

The API server answers 409 to a pod that is bound, being deleted, gated or recreated (BindingREST in
pkg/registry/core/pod/storage/storage.go), so the pod is read again to distinguish these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import msgspec

from mooring.cluster.api import JSON, RESOURCES, ApiServer, Response
from mooring.cluster.api.connection import ApiRequest
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.state import State
from mooring.framework.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from mooring.framework.handle import (
    AlwaysLeader,
    BindingEnded,
    BindOutcome,
    Leadership,
    SendingBinder,
    require_leader,
)
from mooring.framework.objects import Pod

ATTEMPTS = 2
"""Attempts to send a binding whose answer is lost and that the pod doesn't show; the UID makes that safe."""

_NO_ANSWER = 0


class LocalBinder:
    """Binds in the local state alone; no other process sees it.

    Args:
        state: The state that counts the pod.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """As the protocol says. Raises NotFoundError if there is no such node (NODE_NOT_FOUND), and
        FailedPreconditionError if the pod is on another one (POD_BOUND_ELSEWHERE).
        """
        try:
            self._state.assume(pod, node_name)
        except KeyError:
            raise NotFoundError(
                f"node {node_name} is not known; choose another one", reason="NODE_NOT_FOUND", node=node_name
            ) from None
        return BindOutcome.LOCAL


class KubernetesBinder(SendingBinder):
    """Writes bindings to the API server. Safe from any thread.

    Args:
        leadership: Checked before each binding; by default no other process may send one.
        longest_seconds: The API server gives up a binding after these, or after its client's timeout.
    """

    def __init__(
        self, api: ApiServer, leadership: Leadership | None = None, longest_seconds: float = math.inf
    ) -> None:
        self._api = api
        self._reader = KubernetesApi(api)
        self._require_leader = partial(require_leader, leadership or AlwaysLeader())
        # The server gives up when we do, so that an unknown outcome doesn't stay open.
        self._query = {"timeout": f"{min(api.options.timeout_seconds, longest_seconds):g}s"}

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """As the protocol says; the pod's UID is the binding's precondition.

        Raises:
            NotFoundError: The pod is gone (POD_NOT_FOUND).
            AbortedError: Its name belongs to another pod now (POD_RECREATED).
            FailedPreconditionError: POD_BOUND_ELSEWHERE, POD_DELETING or POD_GATED.
            PermissionDeniedError: The API server rejected our credentials.
            InvalidArgumentError: It rejected the binding itself.
            ResourceExhaustedError: It has too much to do (OVERLOADED); the pod is not bound.
            UnavailableError: Another replica leads (NOT_LEADER), and nothing was sent; or the API server did
                not answer, or failed (API_SERVER_UNAVAILABLE): the pod may be bound, and repeating is safe.
        """
        request = self._request(pod, node_name)
        return self._bind(pod, node_name, request, partial(self._sent, request))

    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        request = self._request(pod, node_name)

        def answered(answer: Response | UnavailableError) -> None:
            if isinstance(answer, Response) and answer.ok:
                ended(BindOutcome.BOUND)
            else:
                first = partial(self._finished, request, answer)
                ended(partial(self._bind, pod, node_name, request, first))

        return self._api.begin(request, answered)

    def _bind(
        self, pod: Pod, node_name: str, request: ApiRequest, first: Callable[[], Response]
    ) -> BindOutcome:
        """Return how the binding ended whose first answer ``first`` returns."""
        for attempt in range(ATTEMPTS):
            try:
                response = self._accepted(pod, node_name, self._sent(request) if attempt else first())
            except MooringError as error:
                if attempt == 0:
                    raise
                # Whatever the repetition's answer, the first request may still be carried out.
                raise _unavailable(pod, error.message) from error
            if response.ok:
                return BindOutcome.BOUND
            # A conflict, or a request whose outcome is unknown: only the pod itself shows it.
            if self._is_bound(pod, node_name):
                bound_before = attempt == 0 and response.status == 409
                return BindOutcome.ALREADY_BOUND if bound_before else BindOutcome.BOUND
            if response.status != _NO_ANSWER:
                break
        said = response.message
        raise _unavailable(pod, said if response.status == _NO_ANSWER else f"HTTP {response.status}, {said}")

    def _accepted(self, pod: Pod, node_name: str, response: Response) -> Response:
        """Return the answer to the binding; it raises when this request certainly did not bind the pod."""
        rejection = None if response.ok else _rejected(pod, node_name, response)
        if rejection is not None:
            raise rejection
        return response

    def _request(self, pod: Pod, node_name: str) -> ApiRequest:
        meta = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        return ApiRequest(
            "POST",
            RESOURCES["Pod"].item(meta.namespace, meta.name, "binding"),
            self._query,
            msgspec.json.encode(binding),
            JSON,
            self._require_leader,
        )

    def _sent(self, request: ApiRequest) -> Response:
        """Return the answer; status 0 when there was none."""
        return _or_unanswered(partial(self._api.send, request))

    def _finished(self, request: ApiRequest, answer: Response | UnavailableError) -> Response:
        """Return the final answer to a request that was begun; status 0 when there was none."""
        if isinstance(answer, UnavailableError):
            return Response(_NO_ANSWER, body=answer.message.encode())
        return _or_unanswered(partial(self._api.finish, request, answer))

    def _is_bound(self, pod: Pod, node_name: str) -> bool:
        """Return whether the API server has the pod on the node; False = on none. Raises UnavailableError,
        whatever the reason, if it can't be read, and MooringError if the pod is gone, recreated, bound
        elsewhere, being deleted or gated.
        """
        try:
            current = self._reader.read_pod(pod.metadata.namespace, pod.metadata.name)
        except MooringError as error:
            raise _unavailable(pod, error.message) from error
        if current is None:
            raise _gone(pod)
        key, uid, bound_to = pod.key, current.metadata.uid, current.spec.node_name
        if uid != pod.metadata.uid:
            raise AbortedError(f"{key} is another pod now", reason="POD_RECREATED", pod=key, uid=uid)
        if bound_to == node_name:
            return True
        if bound_to:
            raise FailedPreconditionError(
                f"{key} is bound to node {bound_to}", reason="POD_BOUND_ELSEWHERE", pod=key, node=bound_to
            )
        if current.metadata.deletion_timestamp is not None:
            raise FailedPreconditionError(f"{key} is being deleted", reason="POD_DELETING", pod=key)
        if current.spec.scheduling_gates:
            gates = ", ".join(gate.name for gate in current.spec.scheduling_gates)
            raise FailedPreconditionError(f"{key} waits for gates: {gates}", reason="POD_GATED", pod=key)
        return False


def _or_unanswered(send: Callable[[], Response]) -> Response:
    try:
        return send()
    except UnavailableError as error:
        if error.reason == "NOT_LEADER":
            raise
        return Response(_NO_ANSWER, body=error.message.encode())


def _rejected(pod: Pod, node_name: str, response: Response) -> MooringError | None:
    """Return what an answer means that says for sure that the pod is not bound by it; None for any other."""
    said = response.message
    match response.status:
        case 401 | 403:
            return PermissionDeniedError(
                f"the API server rejected the attempt to bind {pod.key}: {said}", pod=pod.key
            )
        case 404:
            return _gone(pod)
        case 429:
            return ResourceExhaustedError(
                f"the API server has too much to do to bind {pod.key}: {said}; try again later",
                reason="OVERLOADED",
                pod=pod.key,
            )
    # It says 500 to a target that it can't use.
    if response.status in (400, 422) or (response.status == 500 and "target." in said):
        return InvalidArgumentError.at("node", f"binding {pod.key} to {node_name}: {said}")
    return None


def _gone(pod: Pod) -> NotFoundError:
    return NotFoundError(f"pod {pod.key} is gone; forget it", reason="POD_NOT_FOUND", pod=pod.key)


def _unavailable(pod: Pod, why: str) -> UnavailableError:
    return UnavailableError(
        f"the API server did not bind {pod.key} for sure: {why}; repeat the call",
        reason="API_SERVER_UNAVAILABLE",
        pod=pod.key,
    )
