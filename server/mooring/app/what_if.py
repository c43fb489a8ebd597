"""Futures of manifests, without a server: how many more pods, which nodes could go, what would help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mooring.app.bridge import Decoder
from mooring.app.offline import Objects, core_over, pod_named
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import load_manifests
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError, node_not_found
from mooring.framework.object_table import KindObjects, ObjectTable
from mooring.framework.objects import Object
from mooring.framework.pod_table import template_of
from mooring.framework.releases import Gates
from mooring.runtime.commit.asked_group import asked_group, known_group, pods_of_group, waiting
from mooring.runtime.commit.controllers import controller_of
from mooring.runtime.cycle.plugin_calls import Unhurried
from mooring.service.what_if import capacity, node_groups, removal
from mooring.sessions.change.group_search import GROUP_KINDS, GroupChangeSearch
from mooring.sessions.change.options import NeededChanges
from mooring.sessions.change.search import ALL_KINDS, ChangeSearch
from mooring.sessions.change.steps import Kind
from mooring.sessions.copies import copy_of, own_claims
from mooring.sessions.node_groups import NodeGroup
from mooring.sessions.removal import adopted
from mooring.sessions.work_trees import Work
from mooring.v1 import simulation_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class Shape:
    """A pod to place copies of.

    Attributes:
        name: Its name in the manifests.
        pod: The pod; if it has claims, its name is unique.
        claims: The claims that were made for it alone; each copy gets its own.
    """

    name: str
    pod: Pod
    claims: Sequence[Object]


Question = pb.CapacityRequest | pb.RemovalRequest | pb.NodeGroupsRequest
Answer = pb.CapacityResponse | pb.RemovalResponse | pb.NodeGroupsResponse


def shapes_of(paths: Iterable[str | Path], gates: Gates) -> list[Shape]:
    """Return the pods in manifests, one of each template or workload.

    Raises:
        InvalidArgumentError: A manifest can't be used, or there is no pod.
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

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such node or profile.
    """
    work, decoder = _work(options, paths), Decoder()
    work.tree.put_objects(objects)
    if isinstance(request, pb.CapacityRequest):
        return capacity(decoder, work, request, Unhurried())
    if isinstance(request, pb.RemovalRequest):
        return removal(decoder, work, request, Unhurried())
    return node_groups(decoder, work, request, Unhurried())


def groups_of(paths: Iterable[str | Path], prices: Mapping[str, float]) -> list[NodeGroup]:
    """Return a group for each node in manifests, called like it.

    Raises:
        InvalidArgumentError: A manifest can't be used, there is no node, or a price is none of theirs.
    """
    files = list(paths)
    nodes = load_manifests(files).nodes
    if not nodes:
        raise InvalidArgumentError.at(", ".join(map(str, files)), "has no node")
    names = [node.metadata.name for node in nodes]
    for name in prices:
        if name not in names:
            raise InvalidArgumentError.at("--price", f"{name} is none of the groups: {', '.join(names)}")
    return [
        NodeGroup(name, node, price=prices.get(name, 1.0)) for name, node in zip(names, nodes, strict=True)
    ]


def changes(
    options: EngineOptions,
    paths: Objects,
    pod: str,
    nodes: Sequence[str] = (),
    kinds: frozenset[Kind] = ALL_KINDS,
    *,
    profile: str = "",
    seed: int = 0,
) -> NeededChanges:
    """Return what would make the pod of that name fit, on one of the nodes or on any.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such pod, node or profile.
    """
    core, manifests = core_over(options, paths)
    asked = pod_named(pod, manifests.pods)
    for name in nodes:
        if name not in core.state.snapshot.nodes.index:
            raise node_not_found(name)
    work = LiveState(core, options).work()
    asked = replace(asked, spec=replace(asked.spec, node_name=""))
    decided_by, profile_of = work.engine.profile(profile, asked), partial(adopted, work.engine, profile)
    search = ChangeSearch(work, asked, decided_by, profile_of, only=nodes, seed=seed, progress=Unhurried())
    return search.run(kinds)


def group_changes(
    options: EngineOptions,
    paths: Objects,
    group: str,
    kinds: frozenset[Kind] = GROUP_KINDS,
    *,
    profile: str = "",
    seed: int = 0,
) -> NeededChanges:
    """Return what would make the group fit that is called ``NAMESPACE/NAME``, with its pods of manifests.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such group or profile.
        FailedPreconditionError: The feature gate of groups is off.
        UnimplementedError: The release has other rules for groups than 1.37.
    """
    work = _work(options, paths)
    namespace, _, name = group.partition("/")
    found = known_group(work.tree, namespace, name)
    pods = waiting(pods_of_group(work.tree, (namespace, name)))
    decided_by = work.engine.profile(profile, pods[0] if pods else None)
    asked = asked_group(work.engine, found, pods, decided_by)
    return GroupChangeSearch(work, asked.group, decided_by, seed=seed, progress=Unhurried()).run(kinds)


def _work(options: EngineOptions, paths: Objects) -> Work:
    core, _ = core_over(options, paths)
    return LiveState(core, options).work()
