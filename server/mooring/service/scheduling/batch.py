"""The pods of a Schedule request, decoded: templates, columns, profiles, and the nodes to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from mooring.framework import Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.runtime.answers import ALL_NODES, Candidates
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import Profiles
from mooring.service.backend import Backend
from mooring.service.calls.access import asks_place, commit_mode
from mooring.service.wire.objects import find_committed_pod, find_pod, subject
from mooring.service.wire.selection import Listing, Selection
from mooring_client.v1 import scheduling_service_pb2 as pb


class Batch(msgspec.Struct, frozen=True):
    """The pods of a request in order, and the candidate nodes.

    Attributes:
        templates: The pods that the others are copies of, each with its profile; namespaces are filled in.
        include_ties: Whether to return all nodes with the highest total.
        commits: Whether the pods are reserved or bound outside of sessions.
    """

    mode: pb.CommitMode.ValueType
    templates: Sequence[tuple[Pod, Profile]]
    indices: Sequence[int]
    uids: Sequence[str]
    names: Sequence[str]
    selection: Selection
    include_ties: bool
    commits: bool

    def __len__(self) -> int:
        """How many pods there are."""
        return len(self.indices)

    @property
    def candidates(self) -> Candidates:
        """Among which nodes to select. Ties can be listed of full evaluations alone."""
        everything = self.selection.everything and not self.include_ties
        return ALL_NODES if everything else self.selection.candidates

    def profiles(self) -> list[Profile]:
        """Those of the pods, each once."""
        templates = self.templates
        if len(templates) == 1 and self.indices:
            return [templates[0][1]]
        used = (templates[index][1] for index in dict.fromkeys(self.indices))
        return list({profile.name: profile for profile in used}.values())

    def counts(self) -> Sequence[tuple[Profile, int]]:
        """Return the profile of each template in use, and how many pods are copies of that."""
        templates = self.templates
        if len(templates) == 1:
            return [(templates[0][1], len(self.indices))]
        return [(templates[index][1], count) for index, count in Counter(self.indices).items()]

    def pods(self) -> Iterator[tuple[Pod, Profile]]:
        """Each pod with its profile."""
        return map(self.pod, range(len(self)))

    def pod(self, at: int) -> tuple[Pod, Profile]:
        """Return the pod at this position, with its profile."""
        pod, profile = self.templates[self.indices[at]]
        metadata, name, uid = pod.metadata, self.names[at], self.uids[at]
        if (metadata.name, metadata.uid) != (name, uid):
            pod = replace(pod, metadata=replace(metadata, name=name, uid=uid))
        return pod, profile

    @classmethod
    def of(cls, request: pb.ScheduleRequest, backend: Backend) -> Batch:
        """Decode ``request``.

        Raises:
            InvalidArgumentError: A column does not fit, or a commit is requested on nodes sent along.
            FailedPreconditionError: Indices of another epoch (NODE_EPOCH_STALE).
            UnimplementedError: The commit mode is not offered.
        """
        mode = commit_mode(request)
        state = backend.engine.state
        selection = Selection(request.nodes, state, backend.decoder, backend.limits, Listing.NEVER)
        committed = asks_place(request)
        if committed and selection.hypothetical:
            raise InvalidArgumentError.at(
                "commit_mode", "only a dry run is possible with inline nodes or assumed pods"
            )
        if not selection.everything:
            selection.find_rows(selection.state or state)
        if not request.templates:
            raise InvalidArgumentError.at("templates", "is empty; send one or more")
        templates = _templates(request, backend, committed=committed)
        columns = request.pods if request.HasField("pods") else None
        indices = _template_indices(columns, len(templates), backend.limits.max_batch_pods)
        names: list[str] = []
        uids: list[str] = []
        if columns is not None:
            if columns.namespaces:
                namespaces = _spread("namespaces", list(columns.namespaces), len(indices))
                templates, indices = _in_namespaces(templates, indices, namespaces)
            names = _spread("names", list(columns.names), len(indices))
            uids = _spread("uids", list(columns.uids), len(indices))
        names = names or [templates[index][0].metadata.name for index in indices]
        uids = uids or [templates[index][0].metadata.uid for index in indices]
        _check_uids(uids)
        commits = committed and backend.work is None
        return cls(mode, templates, indices, uids, names, selection, request.include_ties, commits)


def _templates(
    request: pb.ScheduleRequest, backend: Backend, *, committed: bool
) -> list[tuple[Pod, Profile]]:
    engine, profiles = backend.engine, backend.engine.profiles
    needs_uid = committed and backend.work is None and not request.pods.uids
    read = find_committed_pod if needs_uid else find_pod if committed else subject
    profile_of = partial(commit_profile, profiles) if committed else profiles.find
    pods = [
        read(backend.decoder, engine.state, template.pod, f"templates[{at}].pod")
        for at, template in enumerate(request.templates)
    ]
    return [(pod, profile_of(request.profile, pod)) for pod in pods]


def _in_namespaces(
    templates: Sequence[tuple[Pod, Profile]], indices: Sequence[int], namespaces: Sequence[str]
) -> tuple[list[tuple[Pod, Profile]], list[int]]:
    """Return a template for each namespace that it is used in, and the indices among those."""
    numbers: dict[tuple[int, str], int] = {}
    moved = [numbers.setdefault(pair, len(numbers)) for pair in zip(indices, namespaces, strict=True)]
    found = []
    for index, namespace in numbers:
        pod, profile = templates[index]
        found.append((replace(pod, metadata=replace(pod.metadata, namespace=namespace)), profile))
    return found, moved


def _template_indices(columns: pb.PodColumns | None, templates: int, limit: int) -> list[int]:
    given: Sequence[int] = range(templates) if columns is None else columns.template_indices
    if len(given) > limit:
        raise InvalidArgumentError.at("pods", f"{len(given)} pods are more than the {limit} allowed")
    indices = list(given)
    if indices and max(indices) >= templates:
        at = next(at for at, index in enumerate(indices) if index >= templates)
        raise InvalidArgumentError.at(
            f"pods.template_indices[{at}]", f"{indices[at]} is not an index of {templates} templates"
        )
    return indices


def _spread(name: str, column: list[str], count: int) -> list[str]:
    given = len(column)
    if given not in (count, 0, 1):
        raise InvalidArgumentError.at(
            f"pods.{name}", f"has {given} values for {count} pods; send none, one or {count}"
        )
    if "" in column:
        raise InvalidArgumentError.at(f"pods.{name}[{column.index('')}]", "is empty")
    return column if given == count else column * count


def _check_uids(uids: Sequence[str]) -> None:
    if len(set(uids)) == len(uids):
        return
    first: dict[str, int] = {}
    raise InvalidArgumentError(
        FieldError(f"pods.uids[{at}]", f"{uid!r} is the UID of pod {first[uid]} of the batch, too")
        for at, uid in enumerate(uids)
        if first.setdefault(uid, at) != at
    )


def commit_profile(profiles: Profiles, name: str, pod: Pod) -> Profile:
    """Return the profile for a commit: the named one, by which the caller adopts the pod, or its own.

    Raises:
        NotFoundError: There is no such profile.
        FailedPreconditionError: The pod is another scheduler's (OTHER_SCHEDULER).
    """
    if not name and profiles.is_foreign(pod):
        scheduler = pod.spec.scheduler_name
        raise FailedPreconditionError(
            f"pod {pod.key} is scheduled by {scheduler!r}; name a profile to place it all the same",
            reason="OTHER_SCHEDULER",
            pod=pod.key,
            scheduler=scheduler,
        )
    return profiles.find(name, pod)
