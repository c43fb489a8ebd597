"""Futures of manifests, without a server: how many more pods, which nodes could go, what would help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mooring.app.bridge import Decoder
from mooring.app.engine import Core
from mooring.app.offline import Objects, core_over, node_named, pod_named
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import load_manifests
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.object_table import KindObjects, ObjectTable
from mooring.framework.objects import Object
from mooring.framework.pod_table import template_of
from mooring.framework.releases import Gates
from mooring.runtime.answers import NoDeadline, Progress
from mooring.runtime.commit.controllers import controller_of
from mooring.service.blame_answer import blame
from mooring.service.change_answer import change
from mooring.service.what_if import capacity, node_groups, removal
from mooring.sessions.blame import OtherRules, other_rules
from mooring.sessions.change.advice import SECONDS, Advisor
from mooring.sessions.copies import copy_of, own_claims
from mooring.sessions.node_groups import NodeGroup
from mooring.sessions.work_trees import Work
from mooring_client.v1 import simulation_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class Shape:
    """A pod to place copies of.

    Attributes:
        pod: The pod; if it has claims, its name is unique.
        claims: The claims that were made for it alone; each copy gets its own.
    """

    name: str
    pod: Pod
    claims: Sequence[Object]


Question = (
    pb.EstimateCapacityRequest
    | pb.PlanRemovalRequest
    | pb.PlanNodeGroupsRequest
    | pb.SuggestChangesRequest
    | pb.AssignBlameRequest
)
Answer = (
    pb.EstimateCapacityResponse
    | pb.PlanRemovalResponse
    | pb.PlanNodeGroupsResponse
    | pb.SuggestChangesResponse
    | pb.AssignBlameResponse
)


def shapes_of(paths: Iterable[str | Path], gates: Gates) -> list[Shape]:
    """Return the pods in manifests, one of each template or workload. Raises InvalidArgumentError if a
    manifest can't be used, or there is no pod.
    """
    files = list(paths)
    manifests = load_manifests(files, gates)
    table = ObjectTable()
    for item in manifests.objects:
        key = item.metadata.namespace, item.metadata.name
        table.kinds.setdefault(type(item), KindObjects()).by_key[key] = item
    shapes: list[Shape] = []
    known: list[str | Pod] = []
    for pod in manifests.pods:
        like = controller_of(pod) or template_of(pod)
        if like not in known and not pod.metadata.deletion_timestamp:
            known.append(like)
            claims = own_claims(pod, table)
            copied = copy_of(pod, claims, "shape") if claims else (pod, ())
            shapes.append(Shape(pod.key, *copied))
    if not shapes:
        raise InvalidArgumentError.at(", ".join(map(str, files)), "has neither a pod nor a workload")
    return shapes


def answered(
    options: EngineOptions, paths: Objects, request: Question, objects: Sequence[Object] = ()
) -> Answer:
    """Answer a question to SimulationService about manifests and ``objects``, as a server would.

    Nodes may be named as in tables, which leave out the ending that all names share.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError, FailedPreconditionError, UnimplementedError: As the method of SimulationService.
    """
    core, manifests = core_over(options, paths)
    return answered_over(core, options, manifests.pods, request, objects)


def answered_over(
    core: Core,
    options: EngineOptions,
    pods: Sequence[Pod],
    request: Question,
    objects: Sequence[Object] = (),
) -> Answer:
    """As ``answered``, with the manifests' ``pods`` in an existing engine's state."""
    live, decoder = LiveState(core, options), Decoder()
    work = live.work()
    work.tree.put_objects(objects)
    name_nodes(request, work.tree.snapshot.nodes.index)
    if isinstance(request, pb.AssignBlameRequest):
        key = f"{request.pod.reference.namespace}/{request.pod.reference.name}"
        pod_named(key, pods)

        def others(work: Work, progress: Progress) -> list[OtherRules]:
            return other_rules(live, work, options.kube_version, options.feature_gates, progress)

        return blame(decoder, work, request, NoDeadline(), others)
    if isinstance(request, pb.SuggestChangesRequest):
        if request.HasField("pod"):
            pod_named(f"{request.pod.reference.namespace}/{request.pod.reference.name}", pods)
        return change(decoder, work, request, NoDeadline())
    if isinstance(request, pb.EstimateCapacityRequest):
        return capacity(decoder, work, request, NoDeadline())
    if isinstance(request, pb.PlanRemovalRequest):
        return removal(decoder, work, request, NoDeadline())
    return node_groups(decoder, work, request, NoDeadline())


def advising(core: Core, options: EngineOptions) -> Callable[[Pod, str], pb.SuggestChangesResponse]:
    """Return a function that returns what would make a pod of the engine's state fit, by a profile; "" = the
    one that the pod names. It is quick, as ``Advisor``.
    """
    work, decoder, advisor = LiveState(core, options).work(), Decoder(), Advisor()

    def advice(pod: Pod, profile: str) -> pb.SuggestChangesResponse:
        request = pb.SuggestChangesRequest(profile=profile)
        request.time_limit.FromNanoseconds(int(SECONDS * 1e9))
        reference = request.pod.reference
        reference.namespace, reference.name = pod.metadata.namespace, pod.metadata.name
        return change(decoder, work, request, NoDeadline(), advisor)

    return advice


def name_nodes(request: Question, known: Collection[str]) -> None:
    """Put the whole names of nodes in a question that names them as in tables. Raises NotFoundError as
    ``node_named``.
    """
    if isinstance(request, pb.AssignBlameRequest) and request.node:
        request.node = node_named(request.node, known)
    if isinstance(request, pb.PlanRemovalRequest | pb.SuggestChangesRequest):
        request.nodes[:] = [node_named(name, known) for name in request.nodes]


def groups_of(paths: Iterable[str | Path], prices: Mapping[str, float]) -> list[NodeGroup]:
    """Return a group for each node in manifests, called like it. Raises InvalidArgumentError if a manifest
    can't be used, it has no node, or a price is for an unknown group.
    """
    files = list(paths)
    nodes = load_manifests(files).nodes
    if not nodes:
        raise InvalidArgumentError.at(", ".join(map(str, files)), "has no node")
    names = [node.metadata.name for node in nodes]
    for name in prices:
        if name not in names:
            raise InvalidArgumentError.at("--price", f"{name} is not one of the groups: {', '.join(names)}")
    return [
        NodeGroup(name, node, price=prices.get(name, 1.0)) for name, node in zip(names, nodes, strict=True)
    ]
