"""Where bindings go: to the API server, or into the local state when there is none.

The API server answers 409 to a pod that is bound, being deleted, gated or recreated (BindingREST in
pkg/registry/core/pod/storage/storage.go), so the pod is read again to tell these apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from mooring.cluster.decoding import decode_pod
from mooring.cluster.state import State
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.framework.handle import BindOutcome
from mooring.framework.objects import Pod

DEFAULT_TIMEOUT_SECONDS = 10.0
"""How long the API server may take for one answer; connecting takes at most half of it."""


class LocalBinder:
    """Counts the pod on the node in the local state; nobody else learns of it.

    Args:
        state: Where the pod is counted.
    """

    connected = False
    """Whether bindings go to an API server."""

    def __init__(self, state: State) -> None:
        self._state = state

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """As the protocol says.

        Raises:
            NotFoundError: There is no such node (NODE_NOT_FOUND).
            FailedPreconditionError: The pod is on another node (POD_BOUND_ELSEWHERE).
        """
        try:
            self._state.assume(pod, node_name)
        except KeyError:
            raise NotFoundError(
                f"node {node_name} is not known; choose another one", reason="NODE_NOT_FOUND", node=node_name
            ) from None
        return BindOutcome.LOCAL


class KubernetesBinder:
    """Writes bindings to the API server. Safe from any thread.

    Args:
        client: A ``kubernetes.client.ApiClient``.
        timeout_seconds: For each request.
    """

    connected = True
    """Whether bindings go to an API server."""

    def __init__(self, client: Any, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        from kubernetes.client import CoreV1Api

        self._api: Any = CoreV1Api(client)
        self._timeout = (timeout_seconds / 2, timeout_seconds)

    @classmethod
    def from_kubeconfig(
        cls, path: str | Path, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> KubernetesBinder:
        """A binder for the current context of a kubeconfig file.

        Raises:
            InvalidArgumentError: The file can't be used.
        """
        from kubernetes.config import ConfigException, new_client_from_config
        from yaml import YAMLError

        try:
            client = new_client_from_config(  # type: ignore[no-untyped-call] # the package types its models only
                config_file=str(path), persist_config=False
            )
        except (ConfigException, YAMLError, OSError, ValueError, TypeError) as error:
            raise InvalidArgumentError(
                [FieldError("kubeconfig", f"{path} can't be used: {error}")]
            ) from error
        return cls(client, timeout_seconds)

    @classmethod
    def in_cluster(cls, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> KubernetesBinder:
        """A binder with the service account of the pod that this process runs in.

        Raises:
            InvalidArgumentError: There is no service account.
        """
        from kubernetes.client import ApiClient, Configuration
        from kubernetes.config import ConfigException, load_incluster_config

        configuration = Configuration()
        try:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # as above
        except ConfigException as error:
            raise InvalidArgumentError([FieldError("in-cluster", f"no service account: {error}")]) from error
        return cls(ApiClient(configuration), timeout_seconds)

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """As the protocol says; the pod's UID is the binding's precondition.

        Raises:
            NotFoundError: The pod is gone (POD_NOT_FOUND).
            AbortedError: Its name belongs to another pod now (POD_RECREATED).
            FailedPreconditionError: POD_BOUND_ELSEWHERE, POD_DELETING or POD_GATED.
            PermissionDeniedError: The API server refused our credentials.
            InvalidArgumentError: It refused the binding itself.
            UnavailableError: It didn't answer, or failed; the pod may be bound, and repeating is safe.
        """
        status, answer = self._post(pod, node_name)
        if 200 <= status < 300:
            return BindOutcome.BOUND
        if status in (401, 403):
            raise PermissionDeniedError(f"the API server refused to bind {pod.key}: {answer}", pod=pod.key)
        if status in (400, 404, 422):
            current = None if status == 404 else self._read(pod)
            if current is None:
                raise _gone(pod)
            raise InvalidArgumentError([FieldError("node", f"binding {pod.key} to {node_name}: {answer}")])
        # A conflict, or a request whose fate is unknown: only the pod itself can tell.
        current = self._read(pod)
        if current is None:
            raise _gone(pod)
        refusal = _refusal(pod, current, node_name)
        if refusal is not None:
            raise refusal
        if current.spec.node_name == node_name:
            return BindOutcome.ALREADY_BOUND if status == 409 else BindOutcome.BOUND
        raise _unavailable(pod, status, answer)

    def _post(self, pod: Pod, node_name: str) -> tuple[int, str]:
        """HTTP status (0 = no answer) and the message that came with it."""
        from kubernetes.client import V1Binding, V1ObjectMeta, V1ObjectReference

        meta = pod.metadata
        binding = V1Binding(
            metadata=V1ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid),
            target=V1ObjectReference(api_version="v1", kind="Node", name=node_name),
        )
        status, data = self._request(self._api.create_namespaced_pod_binding, pod, body=binding)
        return status, _message(data)

    def _read(self, pod: Pod) -> Pod | None:
        """The pod of that name as the API server has it; None when there is none."""
        status, data = self._request(self._api.read_namespaced_pod, pod)
        if status == 404:
            return None
        if status in (401, 403):
            raise PermissionDeniedError(f"the API server refused to show {pod.key}", pod=pod.key)
        if status != 200:
            raise _unavailable(pod, status, _message(data))
        return decode_pod(data)

    def _request(self, call: Callable[..., Any], pod: Pod, **arguments: Any) -> tuple[int, bytes]:
        """HTTP status and body as they came; without an answer 0 and the reason."""
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        meta = pod.metadata
        try:
            # Decoded by the client, a successful binding's answer raises: it is a Status, not a Binding.
            response = call(
                name=meta.name,
                namespace=meta.namespace,
                _preload_content=False,
                _request_timeout=self._timeout,
                **arguments,
            )
            return int(response.status), bytes(response.data)
        except ApiException as error:
            body = error.body or b""
            return int(error.status or 0), body.encode() if isinstance(body, str) else bytes(body)
        except (HTTPError, OSError) as error:
            return 0, f"{type(error).__name__}: {error}".encode()


def _refusal(pod: Pod, current: Pod, node_name: str) -> MooringError | None:
    """Why the API server won't bind ``pod``, going by what it has under that name."""
    key, uid = pod.key, current.metadata.uid
    if uid != pod.metadata.uid:
        return AbortedError(f"{key} is another pod now", reason="POD_RECREATED", pod=key, uid=uid)
    bound_to = current.spec.node_name
    if bound_to == node_name:
        return None
    if bound_to:
        return FailedPreconditionError(
            f"{key} is bound to node {bound_to}", reason="POD_BOUND_ELSEWHERE", pod=key, node=bound_to
        )
    if current.metadata.deletion_timestamp is not None:
        return FailedPreconditionError(f"{key} is being deleted", reason="POD_DELETING", pod=key)
    if current.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in current.spec.scheduling_gates)
        return FailedPreconditionError(f"{key} waits for gates: {gates}", reason="POD_GATED", pod=key)
    return None


def _gone(pod: Pod) -> NotFoundError:
    return NotFoundError(f"pod {pod.key} is gone; forget it", reason="POD_NOT_FOUND", pod=pod.key)


def _unavailable(pod: Pod, status: int, answer: str) -> UnavailableError:
    why = f"HTTP {status}, {answer}" if status else answer
    return UnavailableError(
        f"the API server did not bind {pod.key} for sure: {why}; repeat the call",
        reason="API_SERVER_UNAVAILABLE",
        pod=pod.key,
    )


def _message(data: bytes) -> str:
    """The message of a ``Status``, or the beginning of whatever else came."""
    try:
        answer = msgspec.json.decode(data)
    except msgspec.DecodeError:
        answer = None
    message = answer.get("message") if isinstance(answer, dict) else None
    return str(message or data[:200].decode(errors="replace"))
