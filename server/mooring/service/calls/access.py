"""The right that each call needs, and the rule of the listener."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import grpc

from mooring.framework.errors import PermissionDeniedError, UnimplementedError
from mooring.service.calls.namespaces import PodDecoder, namespaces_of
from mooring.serving.access.access import Access, current_call
from mooring.serving.access.clients import Client
from mooring.serving.access.roles import BINDS, METHODS, NOTHING, RESERVES, Right
from mooring.serving.calls.layers import Behavior
from mooring_client.v1 import scheduling_service_pb2 as pb

COMMIT_MODES: Final[Mapping[pb.CommitMode.ValueType, str]] = {
    pb.COMMIT_MODE_DRY_RUN: "",
    pb.COMMIT_MODE_RESERVE: RESERVES,
    pb.COMMIT_MODE_BIND: BINDS,
    pb.COMMIT_MODE_OBSERVE: "",
}
"""The offered uses of the selected nodes, each with the end of its row in the table of rights."""

_Schedules = pb.ScheduleRequest | pb.ScheduleGroupsRequest
_SCHEDULES: Final = frozenset(
    f"/mooring.v1.SchedulingService/{name}" for name in ("Schedule", "ScheduleGroups")
)


def commit_mode(request: _Schedules) -> pb.CommitMode.ValueType:
    """Return the request's commit mode. Raises UnimplementedError if it is not offered."""
    mode = request.commit_mode or pb.COMMIT_MODE_DRY_RUN
    if mode not in COMMIT_MODES:
        raise UnimplementedError(f"commit mode {mode} is not offered by this server; see GetCapabilities")
    return mode


def mode_row(request: _Schedules) -> str:
    """Return the end of the row of the request's mode outside of sessions: "" changes nothing.

    An unknown mode counts as a binding.
    """
    return COMMIT_MODES.get(request.commit_mode or pb.COMMIT_MODE_DRY_RUN, BINDS)


def asks_place(request: _Schedules) -> bool:
    """Return whether ``request`` wants its pods placed, in the live state or in a session."""
    return bool(mode_row(request))


def right_of(method: str, request: Any) -> Right:
    """Return the right that a call needs; ``NOTHING`` for a method without a row."""
    # A placement in a session has no effect elsewhere.
    if method in _SCHEDULES and not request.session:
        method += mode_row(request)
    return METHODS.get(method, NOTHING)


def permitted(behavior: Behavior, method: str, access: Access, decode: PodDecoder) -> Behavior:
    """Rejects calls that their clients may not make."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        check_access(access, method, request, current_call().client, decode)
        return behavior(request, context)

    return call


def check_access(access: Access, method: str, request: Any, client: Client, decode: PodDecoder) -> None:
    """Let a call pass, or not.

    Raises:
        PermissionDeniedError: Its client may not make it.
        UnavailableError: It can't be found out now.
    """
    named = namespaces_of(request, decode) if access.authorizer.by_namespace else ()
    if wrong := access.rejection(method, right_of(method, request), client, named):
        raise PermissionDeniedError(wrong)
