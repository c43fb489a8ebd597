"""Preempt: which pods would have to go, worked out or checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mooring.decisions.records import DecisionKind
from mooring.framework import Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import ObjectMeta
from mooring.framework.preemption import Candidate, Preemption
from mooring.runtime.answers import choose, evaluate_preemption
from mooring.service.backend import Backend, ObjectDecoder
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.wire.objects import candidate_message, decode_pod, status_message, subject
from mooring.service.wire.selection import Listing, Selection
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb

SEED = 0
"""The seed that, with the pod, decides between equally good candidates."""


def preempt(backend: Backend, request: pb.PreemptRequest, progress: SlotProgress) -> pb.PreemptResponse:
    """Answer ``request``.

    Raises:
        InvalidArgumentError: A candidate is malformed.
        NotFoundError: The profile has no plugin that makes room (PLUGIN_NOT_FOUND).
    """
    engine = backend.engine
    pod = subject(backend.decoder, engine.state, request.pod)
    profile = engine.profile(request.profile)
    given = None
    if request.HasField("candidates"):
        given = _given(request.candidates, backend.decoder, progress)
    selection = Selection(
        request.nodes if given is None else _named(given),
        engine.state,
        backend.decoder,
        backend.limits,
        Listing.NEVER,
    )
    selection.leave_out(pod)
    run = partial(evaluate_preemption, given=given, seed=SEED)
    recorder = DecisionRecorder(backend, DecisionKind.PREEMPT)
    evaluation, version = engine.evaluate(
        pod, profile, selection.candidates, run, state=selection.state, progress=progress
    )
    found = evaluation.preemption or Preemption(evaluation.status)
    best = found.best
    node_name = best[choose(SEED, pod.metadata.uid, len(best))] if best else ""
    recorder.made_room(pod, profile, selection, (evaluation, version), node_name)
    return pb.PreemptResponse(
        provenance=backend.provenance(selection.version(version), selection.epoch, profile),
        candidates=map(candidate_message, found.candidates),
        node=node_name,
        verdict=status_message(found.status, found.status.message),
        warnings=evaluation.warnings,
    )


def _given(
    message: pb.PreemptionCandidates, decoder: ObjectDecoder, progress: SlotProgress
) -> list[Candidate]:
    """Decode the candidates of a request; their victims have at least a UID."""
    InvalidArgumentError.raise_if_any(_faults(message))
    given = []
    for at, candidate in enumerate(message.candidates):
        victims = []
        for number, victim in enumerate(candidate.victims):
            progress.check()
            victims.append(_victim(victim, decoder, f"candidates.candidates[{at}].victims[{number}]"))
        given.append(Candidate(candidate.node, tuple(victims), candidate.pdb_violation_count))
    return given


def _faults(message: pb.PreemptionCandidates) -> Iterator[FieldError]:
    seen: set[str] = set()
    for at, candidate in enumerate(message.candidates):
        path = f"candidates.candidates[{at}]"
        if not candidate.node:
            yield FieldError(f"{path}.node", "is missing")
        elif candidate.node in seen:
            yield FieldError(f"{path}.node", f"node {candidate.node!r} is given twice")
        if candidate.pdb_violation_count < 0:
            yield FieldError(f"{path}.pdb_violation_count", "must be 0 or more")
        seen.add(candidate.node)


def _victim(source: objects_pb2.PodSource, decoder: ObjectDecoder, path: str) -> Pod:
    """Decode a victim as far as it is given; what counts is its UID, by which the state knows it."""
    kind = source.WhichOneof("source")
    if kind is None:
        raise InvalidArgumentError.at(path, "is missing; set object or reference")
    if kind == "object":
        return decode_pod(decoder, source.object, f"{path}.object")
    reference = source.reference
    if not reference.uid:
        raise InvalidArgumentError.at(f"{path}.reference.uid", "is missing")
    return Pod(ObjectMeta(reference.name, reference.namespace, reference.uid))


def _named(candidates: Sequence[Candidate]) -> nodes_pb2.NodeSelection:
    names = [candidate.node_name for candidate in candidates]
    return nodes_pb2.NodeSelection(names=nodes_pb2.NodeNames(names=names))
