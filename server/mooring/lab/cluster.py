"""A cluster to ask questions about: nodes, pods, and what else scheduling reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import count as count_up
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace
from rich.progress import track

from mooring.app.embedding import with_plugin
from mooring.app.engine import Core, build_core, read_text, registry_of
from mooring.app.offline import explain_in, place_in
from mooring.app.options import EngineOptions
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.manifests import objects_from
from mooring.config import from_document
from mooring.config.documents import read_configuration
from mooring.framework import Node, Pod
from mooring.framework.errors import NotFoundError
from mooring.framework.objects.node import HOSTNAME
from mooring.lab.comparison import Comparison, Sweep
from mooring.lab.decision import Decision
from mooring.lab.frames import AnswerTable
from mooring.lab.futures import Futures
from mooring.lab.measures import USUAL, Measure
from mooring.lab.placing import Placed, usage_of
from mooring.lab.profiles import enabling, weighted
from mooring.lab.rules import Rule
from mooring.runtime.answers import CycleOptions
from mooring.runtime.profiles.profiles import oldest_first

T = TypeVar("T", Node, Pod)

Config = str | Path | Mapping[str, Any] | None
"""A configuration: a file, a document, or None for kube-scheduler's defaults."""

_EMPTY = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Cluster:
    """Objects, and a configuration that decides about them. It never changes: what alters it returns another.

    Made by ``lab.load``. For one thread at a time.

    Args:
        objects: The objects.
        options: The release that is followed.
        config: The configuration that decides.
        rules: Plugins of a notebook, active in addition to the configuration's.
    """

    def __init__(
        self,
        objects: Sequence[ClusterObject],
        options: EngineOptions,
        config: Config = None,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._objects = tuple(objects)
        self._options = options
        self._config = config
        self._rules = tuple(rules)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes."""
        return [item.metadata.name for item in self._objects if isinstance(item, Node)]

    @property
    def pods(self) -> list[str]:
        """The pods, as "namespace/name"."""
        return [pod.key for pod in self._pods()]

    @property
    def pending(self) -> list[str]:
        """The pods that have no node yet."""
        return [pod.key for pod in self._pods() if pod.pending]

    def explain(self, pod: str, *, profile: str = "", seed: int = 0) -> Decision:
        """Return why a pod would go where; a running one as if it were pending.

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.
            profile: The profile; default the one that the pod names.
            seed: Decides between nodes of equal totals.

        Raises:
            ConfigError, RegistryError: The configuration or a plugin can't be used.
            NotFoundError: There is no such pod, or no such profile.
        """
        cycle = CycleOptions(always_score=True, all_rejections=True, beyond_nominated=True)
        pods = list(self._pods())
        found = explain_in(self._core.engine, pods, pod, profile=profile, seed=seed, cycle=cycle)
        key = f"{found.namespace}/{found.name}"
        return Decision(
            found,
            lambda nodes: self.change(key, *nodes),
            lambda node: self.blame(key, node),
            lambda: self._futures.advice(key, profile),
        )

    def capacity(
        self, *shapes: Mapping[str, Any], by_node: bool = False, limit: int = 0, seed: int = 0
    ) -> AnswerTable:
        """Return how many more pods of each shape fit, after the pending ones.

        Columns: ``shape``, ``more``, and ``then``, the reason why no more do; by node ``shape``, ``node`` and
        ``more``.

        Args:
            shapes: Pods, such as ``lab.pod("web", cpu="2")``.
            by_node: Say how many each node takes.
            limit: Count at most this many pods of a shape; 0 = a million.
            seed: Decides between nodes of equal totals.

        Raises:
            InvalidArgumentError: There is no shape, or one can't be used.
        """
        pods = _of(Pod, shapes, self._options)
        return self._futures.capacity(pods, by_node=by_node, limit=limit, seed=seed)

    def removal(self, *nodes: str, by: str = "drain", cumulative: bool = False, seed: int = 0) -> AnswerTable:
        """Return which nodes could go, the best one to drain first.

        Columns: ``node``, ``removable``, ``moved``, ``single replicas``, ``emptyDir pods``,
        ``exhausted budgets``, ``why not``.

        Args:
            nodes: The nodes to consider; default all.
            by: ``drain`` or ``deletion``.
            cumulative: Remove each node that can go before the next one is considered.
            seed: Decides between nodes of equal totals.

        Raises:
            NotFoundError: There is no such node.
        """
        return self._futures.removal(nodes, by=by, cumulative=cumulative, seed=seed)

    def node_groups(
        self, *nodes: Mapping[str, Any], prices: Mapping[str, float] | None = None, seed: int = 0
    ) -> AnswerTable:
        """Return how many nodes of each group the pending pods need.

        Columns: ``group``, ``nodes``, ``price`` and ``left over``.

        Args:
            nodes: A node for each group, such as ``lab.node("large", cpu="64")``.
            prices: The price of a node by group; default 1.
            seed: Decides between nodes of equal totals.

        Raises:
            InvalidArgumentError: A node can't be used.
        """
        return self._futures.node_groups(_of(Node, nodes, self._options), prices or {}, seed)

    def change(self, pod: str, *nodes: str, seed: int = 0) -> AnswerTable:
        """Return sets of changes after which a pod fits, the cheapest first.

        Columns: ``option``, ``node``, ``kind`` and ``change``.

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.
            nodes: The nodes to consider; default any, or a new one.
            seed: Decides between nodes of equal totals.

        Raises:
            NotFoundError: There is no such pod or node.
        """
        return self._futures.change(pod, nodes, seed)

    def blame(self, pod: str, node: str = "", *, most: int = 2, seed: int = 0) -> AnswerTable:
        """Return which pods, rules, gates and configuration cost the decision about a pod: the smallest sets
        without which it comes out otherwise.

        Columns: ``set``, ``kind`` (pod, rule, gate or configuration), ``name``, ``on`` (a pod's node), and
        what comes out without the whole set: ``then``, some of the nodes, and ``nodes``, their number.

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.
            node: Why not this node? Default: why no node takes the pod, or why it goes where it goes.
            most: The most inputs of a set, 1 to 3.
            seed: Decides between nodes of equal totals.

        Raises:
            NotFoundError: There is no such pod or node.
        """
        return self._futures.blame(pod, node, most, seed)

    def usage(self) -> AnswerTable:
        """Return how full the nodes are by the requests of their pods, the fullest first.

        Columns: ``node``, ``resource``, ``requested``, ``allocatable`` (CPU in thousandths, the rest in
        units) and ``percent``.
        """
        return usage_of(self._core.state.snapshot.nodes)

    def place(self, *, seed: int = 0) -> Placed:
        """Return where the pending pods go, one after the other as in kube-scheduler's queue. More important
        pods preempt others.

        Raises:
            ConfigError, RegistryError: The configuration or a plugin can't be used.
        """
        core = self._build()
        outcomes = place_in(core.engine, oldest_first(self._pods()), lambda pods, _: pods, seed=seed)
        return Placed.of(outcomes, core.state.snapshot.nodes)

    def compare(
        self,
        configs: Mapping[str, Config],
        *,
        seeds: Iterable[int] = (0,),
        measures: Sequence[Measure] = USUAL,
        progress: bool = True,
    ) -> Comparison:
        """Place the pending pods under each configuration with each seed.

        Args:
            configs: Configurations by a name of yours; None is kube-scheduler's defaults.
            seeds: The seeds, which decide between nodes of equal totals.
            measures: The measures of each.
            progress: Show a bar if it takes more than a second.

        Raises:
            ConfigError, RegistryError: A configuration or a plugin can't be used.
        """
        runs = list(product(configs, seeds))
        placed = {
            (name, seed): self.with_config(configs[name]).place(seed=seed)
            for name, seed in _shown(runs, progress=progress)
        }
        return Comparison(placed, tuple(measures))

    def sweep(
        self,
        weights: Mapping[str, Iterable[int]],
        minimize: Measure,
        *,
        seeds: Iterable[int] = (0,),
        measures: Sequence[Measure] = USUAL,
        progress: bool = True,
    ) -> Sweep:
        """Place the pending pods with each combination of weights of Score plugins.

        Args:
            weights: By plugin the weights to try; 0 switches its scores off.
            minimize: The measure that the best combination has the least of, on average over the seeds.
            seeds: The seeds, which decide between nodes of equal totals.
            measures: The measures in addition to it.
            progress: Show a bar if it takes more than a second.

        Raises:
            ConfigError, RegistryError: A combination or a plugin can't be used.
        """
        tried = [dict(zip(weights, values, strict=True)) for values in product(*weights.values())]
        names = {", ".join(f"{plugin}={weight}" for plugin, weight in one.items()): one for one in tried}
        compared = self.compare(
            {name: weighted(self._document(), one) for name, one in names.items()},
            seeds=seeds,
            measures=tuple(dict.fromkeys((minimize, *measures))),
            progress=progress,
        )
        return Sweep(compared, names, minimize)

    def with_config(self, config: Config) -> Cluster:
        """Return the cluster as another configuration decides about it."""
        return Cluster(self._objects, self._options, config, self._rules)

    def with_rules(self, *rules: Rule) -> Cluster:
        """Return the cluster with these rules in addition to the present ones."""
        return Cluster(self._objects, self._options, self._config, (*self._rules, *rules))

    def add_nodes(self, count: int, *, like: str) -> Cluster:
        """Return the cluster with ``count`` more nodes that are like one of its own, and empty.

        Raises:
            NotFoundError: There is no node ``like``.
        """
        models = (item for item in self._objects if isinstance(item, Node))
        model = next((node for node in models if node.metadata.name == like), None)
        if model is None:
            raise NotFoundError(f"there is no node {like!r}", reason="NODE_NOT_FOUND", node=like)
        taken = set(self.nodes)
        free = (name for at in count_up(1) if (name := f"{like}-{at}") not in taken)
        return self._with((*self._objects, *(_renamed(model, name) for name in islice(free, count))))

    def without(self, *, nodes: str = "", pods: str = "") -> Cluster:
        """Return the cluster without some nodes or pods; the pods of a node that goes are pending again.

        Args:
            nodes: A pattern of names with ``*`` and ``?``; "" = none.
            pods: A pattern of "namespace/name"; "" = none.
        """
        gone = {name for name in self.nodes if nodes and fnmatchcase(name, nodes)}
        kept: list[ClusterObject] = []
        for item in self._objects:
            if isinstance(item, Node) and item.metadata.name in gone:
                continue
            if isinstance(item, Pod):
                if pods and fnmatchcase(item.key, pods):
                    continue
                if item.spec.node_name in gone:
                    item = item.on_node("")  # noqa: PLW2901 - its successor
            kept.append(item)
        return self._with(kept)

    def _with(self, objects: Sequence[ClusterObject]) -> Cluster:
        return Cluster(objects, self._options, self._config, self._rules)

    def _pods(self) -> Iterator[Pod]:
        return (item for item in self._objects if isinstance(item, Pod))

    @cached_property
    def _futures(self) -> Futures:
        return Futures(self._core, self._options, list(self._pods()))

    @cached_property
    def _core(self) -> Core:
        return self._build()

    def _build(self) -> Core:
        embedded = tuple(with_plugin(rule.name, rule.plugin) for rule in self._rules)
        options = dataclasses.replace(self._options, embedded=embedded)
        registry = registry_of(options)
        configuration = from_document(
            enabling(self._document(), self._rules),
            registry.catalog(),
            kube_version=options.kube_version,
            feature_gates=options.feature_gates,
        )
        core = build_core(options, registry, configuration)
        core.state.replace("lab", self._objects)
        core.measuring.read_files()
        return core

    def _document(self) -> dict[str, Any]:
        if self._config is None:
            return dict(_EMPTY)
        if isinstance(self._config, Mapping):
            return dict(self._config)
        found: dict[str, Any] = read_configuration(read_text(str(self._config)))
        return found

    def __repr__(self) -> str:
        return f"{len(self.nodes)} nodes, {len(self.pods)} pods, {len(self.pending)} of them pending"


def _of(kind: type[T], manifests: Iterable[Mapping[str, Any]], options: EngineOptions) -> list[T]:
    """Return the objects of a kind in manifests.

    Raises:
        InvalidArgumentError: A manifest can't be used.
    """
    objects = objects_from(manifests, options.gates, settled=True).objects
    return [item for item in objects if isinstance(item, kind)]


def _renamed(node: Node, name: str) -> Node:
    """Return an empty node like ``node``."""
    labels = dict(node.metadata.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    return replace(node, metadata=replace(node.metadata, name=name, uid="", labels=labels))


def _shown(runs: Sequence[tuple[str, int]], *, progress: bool) -> Iterable[tuple[str, int]]:
    return track(runs, "placing", disable=not progress or len(runs) == 1, transient=True)
