"""Bind, Reserve and Unreserve: the calls about one pod that change something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from mooring.audit.event import OK, AuditedPod
from mooring.decisions.records import DecisionKind
from mooring.framework import Pod, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PluginFailureError,
    recreated,
)
from mooring.runtime.commit.reservations import ReservationEntry
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls.audit import CommitAudit, CommitEnd
from mooring.service.calls.pages import FoundList, fill
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import commit_profile
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.wire.decision_messages import timestamp
from mooring.service.wire.objects import find_committed_pod, referenced_pod, status_message
from mooring.service.wire.outcomes import held_outcome, outcome_of, outcome_word
from mooring.serving.access.access import asking_client
from mooring.serving.calls.errors import call_error
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb

NOT_RESERVED = "NOT_RESERVED"
"""The audit's word for a pod that had no reservation to end."""

LONGEST_NAME = 253
"""Characters in a node's name."""


def bind(backend: Backend, request: pb.BindRequest, progress: SlotProgress) -> pb.BindResponse:
    """Bind a pod to the node that the caller names. Raises MooringError if the request is wrong, the pod
    can't be bound there, or the binding failed.
    """
    _check(FieldError("pod.uid", "is missing") if not request.pod.uid else None, _node_fault(request.node))
    state = backend.engine.state
    pod = referenced_pod(state, request.pod, "pod") or _unknown_pod(backend, request.pod)
    profile = commit_profile(backend.engine.profiles, request.profile, pod)
    audited = _audited(backend, "Bind", AuditedPod.of(pod, request.node), profile)
    with audited as end, _noted(backend, pod, profile, request.node, end) as said:
        committed = backend.committer.bind_pod(pod, request.node, profile, progress=progress)
        status = committed.status
        said.append(status)
        if not status.ok:
            raise PluginFailureError(
                f"plugin {status.plugin!r} rejected the binding: {status.message}",
                plugin=status.plugin,
                extension_point="Bind",
            )
        outcome = outcome_of(committed)
        end.outcome = outcome_word(outcome)
    return pb.BindResponse(outcome=outcome, provenance=_provenance(backend, profile))


def reserve(backend: Backend, request: pb.ReserveRequest, progress: SlotProgress) -> pb.ReserveResponse:
    """Reserve a place for a pod on the node that the caller names. Raises MooringError if the request is
    wrong, or the pod can't have a place there.
    """
    _check(_node_fault(request.node))
    state = backend.engine.state
    pod = find_committed_pod(backend.decoder, state, request.pod)
    reject_recreated(backend, pod)
    profile = commit_profile(backend.engine.profiles, request.profile, pod)
    owner = asking_client().name
    audited = _audited(backend, "Reserve", AuditedPod.of(pod, request.node), profile)
    with audited as end, _noted(backend, pod, profile, request.node, end) as said:
        reserved = backend.committer.reserve_pod(pod, request.node, profile, owner=owner, progress=progress)
        status, outcome = reserved.status, pb.COMMIT_OUTCOME_UNSPECIFIED
        said.append(status)
        end.by(status)
        if status.ok:
            outcome = held_outcome(reserved.held)
            end.outcome = OK if reserved.held is None else outcome_word(outcome)
    return pb.ReserveResponse(
        verdict=status_message(status), outcome=outcome, provenance=_provenance(backend, profile)
    )


def unreserve(backend: Backend, request: pb.UnreserveRequest, progress: SlotProgress) -> pb.UnreserveResponse:
    """End the reservation of a pod. Raises MooringError if the request is wrong, or the reservation is not
    the caller's to end.
    """
    pod = request.pod
    fields = {"pod.namespace": pod.namespace, "pod.name": pod.name, "pod.uid": pod.uid}
    _check(*(FieldError(path, "is missing") for path, value in fields.items() if not value))
    whose = pod.namespace, pod.name, pod.uid
    owner = asking_client().name
    with _audited(backend, "Unreserve", AuditedPod(*whose)) as end:
        released = backend.committer.unreserve_pod(*whose, owner=owner, progress=progress)
        end.outcome = OK if released else NOT_RESERVED
    return pb.UnreserveResponse(released=released, provenance=_provenance(backend))


def unreserve_many(
    backend: Backend, request: pb.UnreserveManyRequest, progress: SlotProgress
) -> pb.UnreserveManyResponse:
    """End the reservations of some pods, or all that the caller may end.

    Raises:
        InvalidArgumentError: The request names none, or a UID twice.
        MooringError: Time is over, or another process leads.
    """
    uids = list(request.uids)
    _check(_uids_fault(uids, request.all, backend.limits.max_batch_pods))
    committer, owner = backend.committer, asking_client().name
    committer.require_leader()
    if request.all:
        uids = [entry.uid for entry in committer.reservations.entries(owner)]
    response = pb.UnreserveManyResponse(pods=[pb.UnreservedPod(uid=uid) for uid in uids])
    for pod in response.pods:
        progress.check()
        try:
            with _audited(backend, "UnreserveMany", AuditedPod(uid=pod.uid)) as end:
                pod.released = committer.unreserve(pod.uid, owner=owner, progress=progress)
                end.outcome = OK if pod.released else NOT_RESERVED
        except DeadlineExceededError:
            raise
        except MooringError as error:
            pod.error.CopyFrom(call_error(error))
    response.provenance.CopyFrom(_provenance(backend))
    return response


def list_reservations(backend: Backend, request: pb.ListReservationsRequest) -> pb.ListReservationsResponse:
    """Return a page of the reservations that the caller may end. Raises MooringError if there is no such
    page.
    """
    reservations, owner = backend.committer.reservations, asking_client().name
    page = backend.pages.page(
        request, lambda: FoundList((_provenance(backend), owner), reservations.entries(owner))
    )
    provenance, whose = page.listing.head
    if whose != owner:
        raise InvalidArgumentError.at("page_token", "belongs to another client")
    response = pb.ListReservationsResponse(provenance=provenance)
    end = fill(page, response.reservations, _reservation)
    response.next_page_token = backend.pages.next_token(page, end, request)
    return response


def _reservation(entry: ReservationEntry) -> pb.Reservation:
    return pb.Reservation(
        pod=objects_pb2.PodReference(namespace=entry.namespace, name=entry.name, uid=entry.uid),
        node=entry.node_name,
        profile=entry.profile,
        client=entry.owner,
        create_time=timestamp(entry.created),
        binding=entry.binding,
    )


def _uids_fault(uids: Sequence[str], every: bool, most: int) -> FieldError | None:
    if every == bool(uids):
        return FieldError("uids", "is given together with all" if every else "is missing; or set all")
    if len(uids) > most:
        return FieldError("uids", f"has {len(uids)} entries, more than {most}")
    if "" in uids:
        return FieldError(f"uids[{uids.index('')}]", "is empty")
    return None if len(set(uids)) == len(uids) else FieldError("uids", "has a UID twice")


def reject_recreated(backend: Backend, pod: Pod) -> None:
    """Reject a pod whose name belongs to another one by now. Raises AbortedError if it does
    (POD_RECREATED).
    """
    named = backend.engine.state.find_pod(pod.metadata.namespace, pod.metadata.name)
    if named is not None and named.metadata.uid != pod.metadata.uid:
        raise recreated(pod.key, pod.metadata.uid, named.metadata.uid)


def not_recreated(
    backend: Backend,
    templates: Sequence[tuple[Pod, Profile]],
    indices: Sequence[int],
    names: Sequence[str],
    uids: Sequence[str],
) -> int:
    """How many of some pods, like their templates, come before one that ``reject_recreated`` rejects."""
    state = backend.engine.state
    namespaces = {index: templates[index][0].metadata.namespace for index in set(indices)}
    with state.lock:
        known = {index: state.pod_uids(namespace) for index, namespace in namespaces.items()}
        if any(known.values()):
            for at, (index, name, uid) in enumerate(zip(indices, names, uids, strict=True)):
                if known[index].get(name, uid) != uid:
                    return at
    return len(uids)


def _audited(
    backend: Backend, call: str, pod: AuditedPod, profile: Profile | None = None
) -> AbstractContextManager[CommitEnd]:
    """Record the commit about ``pod`` when it ends."""
    engine = backend.engine
    configuration = engine.profiles.configuration if profile is None else profile.key
    return CommitAudit(backend.audit, call, engine.state).committing(pod, configuration)


@contextmanager
def _noted(
    backend: Backend, pod: Pod, profile: Profile, node_name: str, end: CommitEnd
) -> Iterator[list[Status]]:
    """Note the outcome of placing ``pod`` on the node that the caller selected: the list's last item."""
    recorder, said = DecisionRecorder(backend, DecisionKind.BIND), list[Status]()
    try:
        yield said
    except MooringError as error:
        end.decided = recorder.ended(pod, profile, node_name, error)
        raise
    end.decided = recorder.ended(pod, profile, node_name, said[0])


def _unknown_pod(backend: Backend, reference: objects_pb2.PodReference) -> Pod:
    """Return a pod that only the API server knows, unless a source follows that anyway."""
    key = f"{reference.namespace}/{reference.name}"
    pod = backend.read_pod(reference.namespace, reference.name) if backend.read_pod else None
    if pod is None:
        raise NotFoundError(f"pod {key} is not known; forget it", reason="POD_NOT_FOUND", pod=key)
    if pod.metadata.uid != reference.uid:
        raise recreated(key, reference.uid, pod.metadata.uid)
    return pod


def _check(*faults: FieldError | None) -> None:
    found = [fault for fault in faults if fault is not None]
    if found:
        raise InvalidArgumentError(found)


def _node_fault(node: str) -> FieldError | None:
    if not node:
        return FieldError("node", "is missing")
    if len(node) > LONGEST_NAME:
        return FieldError("node", f"has {len(node)} characters; at most {LONGEST_NAME} are")
    return None


def _provenance(backend: Backend, *profiles: Profile) -> objects_pb2.Provenance:
    state = backend.engine.state
    with state.lock:
        return backend.provenance(state.version, state.snapshot.nodes.epoch, *profiles)
