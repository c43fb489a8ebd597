"""The pods of a Schedule request, decoded: templates, columns, profiles, and the nodes to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from mooring.framework import Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, UnimplementedError
from mooring.runtime.profile import Profile
from mooring.service.backend import Backend
from mooring.service.commits import commit_profile
from mooring.service.objects import find_pod, subject
from mooring.service.selection import Listing, Selection
from mooring.v1 import scheduling_service_pb2 as pb

COMMIT_MODES = (pb.COMMIT_MODE_DRY_RUN, pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_BIND)
"""What may be done with the chosen nodes."""


def asks_commit(request: pb.ScheduleRequest) -> bool:
    """Whether ``request`` wants more than to know the nodes: pods reserved or bound."""
    return request.commit_mode not in (pb.COMMIT_MODE_UNSPECIFIED, pb.COMMIT_MODE_DRY_RUN)


@dataclass(frozen=True, slots=True)
class Batch:
    """The pods of a request with their profiles, in order, and the nodes to choose from.

    Attributes:
        mode: What to do with the chosen nodes.
    """

    request: pb.ScheduleRequest
    mode: pb.CommitMode.ValueType
    pods: Sequence[Pod]
    profiles: Sequence[Profile]
    selection: Selection

    @classmethod
    def of(cls, request: pb.ScheduleRequest, backend: Backend) -> Batch:
        """Decode ``request``.

        Raises:
            InvalidArgumentError: A column does not fit, or a commit is asked for on nodes sent along.
            FailedPreconditionError: Indices of another epoch (NODE_EPOCH_STALE).
            UnimplementedError: The commit mode is not offered.
        """
        mode = request.commit_mode or pb.COMMIT_MODE_DRY_RUN
        if mode not in COMMIT_MODES:
            raise UnimplementedError(f"commit mode {mode} is not offered by this server; see GetCapabilities")
        state = backend.engine.state
        selection = Selection(request.nodes, state, backend.decoder, backend.limits, Listing.NEVER)
        if asks_commit(request) and selection.hypothetical:
            raise InvalidArgumentError.at(
                "commit_mode", "only a dry run is possible with inline nodes or assumed pods"
            )
        selection.candidates(selection.state or state)
        if not request.templates:
            raise InvalidArgumentError.at("templates", "is empty; send one or more")
        committed = asks_commit(request)
        read = find_pod if committed else subject
        templates = [
            read(backend.decoder, state, template.pod, f"templates[{at}].pod")
            for at, template in enumerate(request.templates)
        ]
        indices = _template_indices(request, len(templates), backend.limits.max_batch_pods)
        profile_of = (
            partial(commit_profile, backend.engine) if committed else backend.engine.profile
        )
        profiles = [profile_of(request.profile, template) for template in templates]
        pods = _pods(request.pods, templates, indices)
        return cls(request, mode, pods, [profiles[at] for at in indices], selection)


def _template_indices(request: pb.ScheduleRequest, templates: int, limit: int) -> list[int]:
    indices = list(request.pods.template_indices) if request.HasField("pods") else list(range(templates))
    if len(indices) > limit:
        raise InvalidArgumentError.at("pods", f"{len(indices)} pods are more than the {limit} allowed")
    if indices and max(indices) >= templates:
        at = next(at for at, index in enumerate(indices) if index >= templates)
        raise InvalidArgumentError.at(
            f"pods.template_indices[{at}]", f"{indices[at]} is no index of {templates} templates"
        )
    return indices


def _pods(columns: pb.PodColumns, templates: Sequence[Pod], indices: Sequence[int]) -> list[Pod]:
    given = {
        attribute: values
        for attribute, name, column in (
            ("namespace", "namespaces", columns.namespaces),
            ("name", "names", columns.names),
            ("uid", "uids", columns.uids),
        )
        if (values := _spread(name, list(column), len(indices)))
    }
    pods = [templates[index] for index in indices]
    if given:
        pods = [
            replace(pod, metadata=replace(pod.metadata, **dict(zip(given, values, strict=True))))
            for pod, values in zip(pods, zip(*given.values(), strict=True), strict=True)
        ]
    _check_uids(pods)
    return pods


def _spread(name: str, column: list[str], count: int) -> list[str]:
    if len(column) not in (0, 1, count):
        raise InvalidArgumentError.at(
            f"pods.{name}", f"has {len(column)} values for {count} pods; send none, one or {count}"
        )
    if "" in column:
        raise InvalidArgumentError.at(f"pods.{name}[{column.index('')}]", "is empty")
    return column * count if len(column) == 1 else column


def _check_uids(pods: Sequence[Pod]) -> None:
    first: dict[str, int] = {}
    faults = [
        FieldError(f"pods.uids[{at}]", f"{uid!r} is the UID of pod {first[uid]} of the batch, too")
        for at, uid in enumerate(pod.metadata.uid for pod in pods)
        if first.setdefault(uid, at) != at
    ]
    if faults:
        raise InvalidArgumentError(faults)
