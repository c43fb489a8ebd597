"""Objects, statuses and candidates of preemption between the wire and the framework."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mooring.framework import Code, Int32s, Node, Pod, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, NotFoundError, node_not_found, recreated
from mooring.framework.label_selector import LabelMatcher, SelectorError, parsed
from mooring.framework.objects import ObjectMeta
from mooring.framework.objects.meta import LAST_APPLIED, shown_annotations
from mooring.framework.objects.pod import PodSpec
from mooring.framework.preemption import Candidate
from mooring.framework.state import ClusterState
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.columns import put
from mooring.sessions.work_trees import Work
from mooring_client.v1 import objects_pb2, verdicts_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb

CODES = {
    Code.SUCCESS: verdicts_pb2.VERDICT_CODE_SUCCESS,
    Code.ERROR: verdicts_pb2.VERDICT_CODE_ERROR,
    Code.UNSCHEDULABLE: verdicts_pb2.VERDICT_CODE_UNSCHEDULABLE,
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: verdicts_pb2.VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
    Code.WAIT: verdicts_pb2.VERDICT_CODE_WAIT,
    Code.SKIP: verdicts_pb2.VERDICT_CODE_SKIP,
    Code.PENDING: verdicts_pb2.VERDICT_CODE_PENDING,
}

_FROM_WIRE = {number: code for code, number in CODES.items()}


def decode_pod(decoder: ObjectDecoder, message: objects_pb2.KubernetesObject, path: str) -> Pod:
    """Decode the pod that ``message`` holds. Raises InvalidArgumentError if it is missing or malformed."""
    encoding, data = _encoded(message, path)
    return decoder.pod(encoding, data, path)


def decode_node(decoder: ObjectDecoder, message: objects_pb2.KubernetesObject, path: str) -> Node:
    """Decode the node that ``message`` holds; otherwise as ``decode_pod``."""
    encoding, data = _encoded(message, path)
    return decoder.node(encoding, data, path)


def _encoded(message: objects_pb2.KubernetesObject, path: str) -> tuple[str, bytes]:
    encoding = message.WhichOneof("encoding")
    if encoding is None:
        raise InvalidArgumentError.at(path, "has no object; set json or protobuf")
    return encoding, message.json if encoding == "json" else message.protobuf


def label_matcher(text: str, path: str) -> LabelMatcher:
    """Compile the selector in a field; an empty one matches everything. Raises InvalidArgumentError if the
    value is invalid.
    """
    try:
        return parsed(text)
    except SelectorError as error:
        raise InvalidArgumentError.at(path, str(error)) from None


def find_pod(
    decoder: ObjectDecoder, state: ClusterState, source: objects_pb2.PodSource, path: str = "pod"
) -> Pod:
    """Return the pod that a call is about: sent along, or known to the state.

    Raises:
        InvalidArgumentError: Neither is given, or the object is malformed.
        NotFoundError: No pod of that name is known (POD_NOT_FOUND).
        AbortedError: It has another UID (POD_RECREATED).
    """
    kind = source.WhichOneof("source")
    if kind == "object":
        return decode_pod(decoder, source.object, f"{path}.object")
    if kind is None:
        raise InvalidArgumentError.at(path, "is missing; set object or reference")
    return known_pod(state, source.reference, f"{path}.reference")


def find_committed_pod(
    decoder: ObjectDecoder, state: ClusterState, source: objects_pb2.PodSource, path: str = "pod"
) -> Pod:
    """Return the pod that a call is to give a place, as ``find_pod``.

    Without a UID two callers with pods of one name would share one place. Raises InvalidArgumentError as
    ``find_pod``; or it has no UID.
    """
    if source.WhichOneof("source") == "object":
        encoding, data = _encoded(source.object, f"{path}.object")
        return decoder.committed_pod(encoding, data, f"{path}.object")
    pod = find_pod(decoder, state, source, path)
    if not source.reference.uid:
        raise InvalidArgumentError.at(f"{path}.reference.uid", "is missing; what is committed needs one")
    return pod


def known_pod(state: ClusterState, reference: objects_pb2.PodReference, path: str) -> Pod:
    """Return the pod that ``reference`` names.

    Raises:
        InvalidArgumentError: The reference has no name.
        NotFoundError: No pod of that name is known (POD_NOT_FOUND).
        AbortedError: It has another UID (POD_RECREATED).
    """
    pod = referenced_pod(state, reference, path)
    if pod is None:
        key = f"{reference.namespace}/{reference.name}"
        raise NotFoundError(
            f"pod {key} is not known; send the object, or wait for it", reason="POD_NOT_FOUND", pod=key
        )
    return pod


def known_node(state: ClusterState, name: str) -> Node:
    """Return the node of that name. Raises NotFoundError if there is none (NODE_NOT_FOUND)."""
    table = state.snapshot.nodes
    with state.lock:
        row = table.index.get(name)
        node = None if row is None else table.nodes[row]
    if node is None:
        raise node_not_found(name)
    return node


def manifest_of(item: Node | Pod) -> bytes:
    """Return an object as JSON, with the fields that scheduling reads.

    The copy of the manifest that ``kubectl apply`` keeps is left out, and the values of annotations that
    scheduling has no use for are hidden.
    """
    document = {"apiVersion": "v1", "kind": type(item).__name__, **msgspec.to_builtins(item, enc_hook=dict)}
    if annotations := shown_annotations(item.metadata.annotations):
        annotations.pop(LAST_APPLIED, None)
        document["metadata"]["annotations"] = annotations
    return msgspec.json.encode(document)


def subject(
    decoder: ObjectDecoder, state: ClusterState, source: objects_pb2.PodSource, path: str = "pod"
) -> Pod:
    """Return the pod that a question is about, as ``find_pod``.

    A pod that is referred to and has a node already is taken as if it had none: the question is where it
    could be. A pod that is sent along is taken as it is.
    """
    if source.WhichOneof("source") == "object":
        return decode_pod(decoder, source.object, f"{path}.object")
    pod = find_pod(decoder, state, source, path)
    return pod.on_node("") if pod.spec.node_name else pod


def referenced_pod(state: ClusterState, reference: objects_pb2.PodReference, path: str) -> Pod | None:
    """Return the pod that ``reference`` names; None when the state doesn't know it.

    Raises:
        InvalidArgumentError: The reference has no name.
        AbortedError: The pod has another UID (POD_RECREATED).
    """
    missing = [name for name in ("namespace", "name") if not getattr(reference, name)]
    if missing:
        raise InvalidArgumentError(
            FieldError(f"{path}.{name}".removeprefix("."), "is missing") for name in missing
        )
    pod = state.find_pod(reference.namespace, reference.name)
    if pod is None:
        # A pod that came with a call and was placed by it is known by its UID alone.
        record = state.snapshot.pods.get(reference.uid)
        pod = record.pod if record and record.pod.key == f"{reference.namespace}/{reference.name}" else None
    if pod is not None and reference.uid and pod.metadata.uid != reference.uid:
        raise recreated(pod.key, reference.uid, pod.metadata.uid)
    return pod


def pod_reference(pod: Pod) -> objects_pb2.PodReference:
    """Return what names a pod."""
    meta = pod.metadata
    return objects_pb2.PodReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)


def node_of(state: ClusterState, uid: str) -> str:
    """Return the node on which the pod with this UID counts; "" = none."""
    record = state.snapshot.pods.get(uid)
    return "" if record is None else record.node_name


def status_message(status: Status, message: str = "") -> verdicts_pb2.Verdict:
    """Return a status on the wire."""
    return verdicts_pb2.Verdict(
        code=CODES[status.code], plugin=status.plugin, reasons=status.reasons, message=message
    )


def status_of(message: verdicts_pb2.Verdict) -> Status:
    """Return the status that ``status_message`` encoded, without the sentence. Raises KeyError if the code is
    one of a newer server.
    """
    return Status(_FROM_WIRE[message.code], tuple(message.reasons), message.plugin)


def verdicts(statuses: Sequence[Status], codes: Int32s) -> verdicts_pb2.NodeVerdicts:
    """Verdicts on nodes: ``codes`` (int32[M]) index ``statuses``, whose number 0 is Success."""
    answer = verdicts_pb2.NodeVerdicts(distinct=[status_message(status) for status in statuses])
    if len(statuses) > 1 and codes.any():
        put(answer, "node_verdicts", codes)
    return answer


def provenance(work: Work, profile: str = "") -> objects_pb2.Provenance:
    """Return where an answer about a work tree comes from; "" = from all profiles."""
    return objects_pb2.Provenance(
        state_version=work.version.live_version,
        node_epoch=work.tree.snapshot.nodes.epoch,
        configuration_hash=work.engine.profiles.configuration,
        profile=profile,
    )


def candidate_message(candidate: Candidate) -> pb.PreemptionCandidate:
    """Encode a candidate; its victims are references."""
    return pb.PreemptionCandidate(
        node=candidate.node_name,
        victims=[objects_pb2.PodSource(reference=pod_reference(victim)) for victim in candidate.victims],
        pdb_violation_count=candidate.violations,
        victim_priorities=[victim.priority for victim in candidate.victims],
        violated_budgets=candidate.budgets,
    )


def candidate_of(message: pb.PreemptionCandidate) -> Candidate:
    """Decode a candidate of an answer; of its victims name, UID and priority are known."""
    victims = [
        Pod(
            ObjectMeta(victim.reference.name, victim.reference.namespace, victim.reference.uid),
            PodSpec(priority=priority),
        )
        for victim, priority in zip(message.victims, message.victim_priorities, strict=True)
    ]
    budgets = tuple(message.violated_budgets)
    return Candidate(message.node, tuple(victims), message.pdb_violation_count, budgets)
