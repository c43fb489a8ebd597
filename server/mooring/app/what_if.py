"""Futures of manifests, without a server: how many more pods, which nodes could go, what would help."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mooring.app.offline import Objects, core_over, pod_named
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import load_manifests
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError, node_not_found
from mooring.framework.pod_table import template_of
from mooring.framework.releases import Gates
from mooring.runtime.commit.asked_group import asked_group, known_group, pods_of_group, waiting
from mooring.runtime.cycle.plugin_calls import Unhurried
from mooring.runtime.profiles.profiles import left_alone
from mooring.sessions.capacity import MOST, Capacity, capacity_of
from mooring.sessions.change.group_search import GROUP_KINDS, GroupChangeSearch
from mooring.sessions.change.options import NeededChanges
from mooring.sessions.change.search import ALL_KINDS, ChangeSearch
from mooring.sessions.change.steps import Kind
from mooring.sessions.node_groups import NodeGroup, NodeGroupOption, NodeGroups
from mooring.sessions.pending import Queue, pending, place_pending
from mooring.sessions.removal import Departure, NodeRemoval, Removal, adopted
from mooring.sessions.work_trees import Work

log = logging.getLogger(__name__)


def shapes_of(paths: Iterable[str | Path], gates: Gates) -> list[Pod]:
    """Return the pods in manifests, one of each template; those of workloads included.

    Raises:
        InvalidArgumentError: A manifest can't be used, or there is no pod.
    """
    files = list(paths)
    shapes: list[Pod] = []
    for pod in load_manifests(files, gates).pods:
        if not pod.metadata.deletion_timestamp and template_of(pod) not in map(template_of, shapes):
            shapes.append(pod)
    if not shapes:
        raise InvalidArgumentError.at(", ".join(map(str, files)), "has neither a pod nor a workload")
    return shapes


def capacities(
    options: EngineOptions,
    paths: Objects,
    shapes: Sequence[Pod],
    *,
    profile: str = "",
    limit: int = MOST,
    by_node: bool = False,
    ignore_pending: bool = False,
    seed: int = 0,
) -> tuple[Queue, Iterator[Capacity]]:
    """Return what becomes of the pending pods of manifests, and how many more pods of each shape fit then.

    With ``ignore_pending`` it is as if they weren't there.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such profile.
    """
    work = _work(options, paths)
    queue = Queue() if ignore_pending else _queue(work, profile, seed)

    def count() -> Iterator[Capacity]:
        for shape in shapes:
            decided_by = work.engine.profile(profile, shape)
            _warn(left_alone(shape, decided_by))
            yield capacity_of(
                work, shape, decided_by, limit=limit, by_node=by_node, seed=seed, progress=Unhurried()
            )
            work.go_back()

    return queue, count()


def removals(
    options: EngineOptions,
    paths: Objects,
    names: Sequence[str] = (),
    *,
    departure: Departure = Departure.DRAIN,
    cumulative: bool = False,
    ignore_pending: bool = False,
    profile: str = "",
    seed: int = 0,
) -> tuple[Queue, int, Iterator[NodeRemoval]]:
    """Return what becomes of the pending pods, of how many nodes it is said whether they could go, and what.

    Args:
        options: What decides.
        paths: The manifests' files and directories.
        names: The nodes; none = all, by name.
        departure: How nodes go.
        cumulative: A node that can go is gone for those after it.
        ignore_pending: Pending pods get no room first.
        profile: The profile of pods whose scheduler is none of the profiles.
        seed: Decides between nodes of equal totals.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such node.
    """
    work = _work(options, paths)
    index = work.tree.snapshot.nodes.index
    for name in names:
        if name not in index:
            raise node_not_found(name)
    asked = list(names) or sorted(index)
    queue = Queue() if ignore_pending else _queue(work, profile, seed)
    removal = Removal(
        work,
        partial(adopted, work.engine, profile),
        departure=departure,
        queued=queue.placed,
        seed=seed,
    )
    return queue, len(asked), removal.try_nodes(asked, Unhurried(), cumulative=cumulative)


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


def node_groups(
    options: EngineOptions,
    paths: Objects,
    groups: Sequence[NodeGroup],
    *,
    profile: str = "",
    seed: int = 0,
) -> tuple[NodeGroups, list[NodeGroupOption]]:
    """Return what becomes of the pending pods of manifests, and what nodes of each group would do for them.

    The best group comes first.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError: As ``core_over``.
        NotFoundError: There is no such profile.
    """
    work = _work(options, paths)
    profile_of = partial(work.engine.profiles.of_pod, profile)
    pods, warnings = pending(work.engine, profile_of)
    _warn(warnings)
    looking = NodeGroups(work, pods, profile_of, seed=seed)
    looking.place_existing(Unhurried())
    return looking, looking.options(groups, Unhurried())


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


def _queue(work: Work, profile: str, seed: int) -> Queue:
    """Place the pending pods; with a profile, those of other schedulers as well."""
    queue = place_pending(work, partial(adopted, work.engine, profile), seed, Unhurried())
    _warn(queue.warnings)
    return queue


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        log.warning("%s", warning)


def _work(options: EngineOptions, paths: Objects) -> Work:
    core, _ = core_over(options, paths)
    return LiveState(core, options).work()
