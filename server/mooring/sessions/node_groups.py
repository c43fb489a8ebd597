"""Which kind of node, and how many of it, would give a node to pods that have none."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import partial

import numpy as np
from msgspec.structs import replace

from mooring.framework import Node, Pod
from mooring.framework.objects.node import HOSTNAME
from mooring.plugins.pod_topology_spread.filtering import REASON, HardCounts
from mooring.runtime.answers import ALL_NODES, Progress, evaluate_filters
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.forecast.parallel_groups import ParallelGroups
from mooring.sessions.daemons import Daemons
from mooring.sessions.least_count import Search, searched
from mooring.sessions.pending import LeftOver, PendingPods, ProfileOf
from mooring.sessions.work_trees import Work

MOST_NODES = 5_000
"""Nodes of a group that are tried at most."""

MOST_EXPLAINED = 3
"""The number of best options with pods left over that get the reasons."""

MOST_TOGETHER = 16
"""How many of the best groups are tried together."""

MOST_LACKING = 5
"""How many topology domains are named that lack nodes."""

_MOST_AT_ONCE = 1 << 17
"""How many new nodes of all groups may take pods side by side."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """A group of equal nodes that can get more.

    Attributes:
        name: Its name; a node is called like it, with a number behind.
        template: The node, without its name.
        most: How many more there can be, ``MOST_NODES`` at most.
        price: The price of a node, in any unit.
    """

    name: str
    template: Node
    most: int = MOST_NODES
    price: float = 1.0


@dataclass(frozen=True, slots=True)
class NodeGroupOption:
    """The effect of more nodes of a group.

    Attributes:
        count: The smallest number of nodes that leaves no more pods over than the largest possible
            number does.
        left_over: The pods that get no node with them.
        places: The other pods, each with the number of its node, if known.
    """

    group: NodeGroup
    count: int = 0
    left_over: tuple[LeftOver, ...] = ()
    places: tuple[tuple[Pod, int], ...] = field(default=(), repr=False)

    @property
    def price(self) -> float:
        """The price of all its nodes."""
        return self.count * self.group.price

    @property
    def rank(self) -> tuple[int, float, int, str]:
        """Orders options: the fewest pods left over, then the cheapest, then the fewest nodes."""
        return len(self.left_over), self.price, self.count, self.group.name


@dataclass(frozen=True, slots=True)
class Together:
    """The effect of more nodes of several groups together.

    Attributes:
        counts: The groups with their numbers of nodes. With one node fewer of any group, more pods would be
            left over.
        left_over: The pods that would still get no node.
    """

    counts: tuple[tuple[NodeGroup, int], ...]
    left_over: tuple[LeftOver, ...]

    @property
    def price(self) -> float:
        """The price of all nodes."""
        return sum(group.price * count for group, count in self.counts)


@dataclass(slots=True)
class NodeGroups:
    """Looks for nodes for some pods. For one thread. The ``rest`` are the pods that need a new node, in the
    order in which they are placed.
    """

    work: Work
    rest: Sequence[LeftOver]
    profile_of: ProfileOf
    seed: int = 0
    _pending: PendingPods = field(init=False, repr=False)
    _daemons: Daemons = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._daemons = Daemons(self.work)
        self._pending = PendingPods(self.work, self.profile_of, self.seed)

    def options(self, groups: Sequence[NodeGroup], progress: Progress) -> list[NodeGroupOption]:
        """Find out how many nodes of each group the rest needs, the best group first.

        The tree is unchanged in the end. The first ``MOST_EXPLAINED`` options that leave pods over get
        the reasons.

        Raises:
            DeadlineExceededError, PluginFailureError: As ``place_pending``.
            InvalidArgumentError: A node can't be used.
        """
        if not self.rest:
            return sorted(map(NodeGroupOption, groups), key=lambda option: option.rank)
        found = self._side_by_side(groups, progress)
        if found is None:
            found = [self._by_itself(group, progress) for group in groups]
        ranked = sorted(found, key=lambda option: option.rank)
        leaving = [at for at, option in enumerate(ranked) if option.left_over]
        for at in leaving[:MOST_EXPLAINED]:
            if not any(each.message for each in ranked[at].left_over):
                ranked[at] = self._explained(ranked[at], progress)
        return ranked

    def _explained(self, option: NodeGroupOption, progress: Progress) -> NodeGroupOption:
        """Return the option with the filters' reasons for the pods left over, once all others have a node."""
        nodes = self._add([(option.group, max(1, option.count))], progress)
        tree = self.work.tree
        for pod, node in option.places:
            tree.assume(pod, nodes[node].metadata.name)
        templates, indices = alike([each.pod for each in option.left_over])
        said = []
        for pod in templates:
            progress.check()
            found, _ = self.work.engine.evaluate(
                pod, self.profile_of(pod), ALL_NODES, evaluate_filters, progress=progress
            )
            said.append((found.status, found.message))
        self.work.go_back()
        explained = (
            LeftOver(each.pod, *said[at]) for each, at in zip(option.left_over, indices, strict=True)
        )
        return changed(option, left_over=tuple(explained))

    def _side_by_side(self, groups: Sequence[NodeGroup], progress: Progress) -> list[NodeGroupOption] | None:
        """Evaluate all groups at once; None if pods have to be placed in the tree."""
        pods = [left.pod for left in self.rest]
        templates, indices = alike(pods)
        decided = [(pod, self.profile_of(pod)) for pod in templates]
        if not all(asks_nothing(*each) for each in decided):
            return None
        tree, uids = self.work.tree, [pod.metadata.uid for pod in pods]
        nodes = self._add([(group, 1) for group in groups], progress)
        try:
            rows = np.array([tree.snapshot.nodes.index[node.metadata.name] for node in nodes], np.int32)
            worlds = self.work.engine.parallel_groups(decided, rows, progress)
            if worlds is None:
                return None
            numbers = np.bincount(indices, minlength=len(templates))
            fewest, unfit, plenty = (
                worlds.fewest_nodes(numbers),
                numbers @ ~worlds.fits,
                worlds.left_by_plenty(indices),
            )

            searches = [
                self._search(
                    group,
                    max(1, int(first)),
                    int(least),
                    None if plenty is None else int(plenty[:, at].sum()),
                )
                for at, (group, first, least) in enumerate(zip(groups, fewest, unfit, strict=True))
            ]
            found = searched(searches, partial(self._placed_in, worlds, indices, uids, progress))
            return [self._option(group, *each) for group, each in zip(groups, found, strict=True)]
        finally:
            self.work.go_back()

    def _placed_in(
        self,
        worlds: ParallelGroups,
        indices: Sequence[int],
        uids: Sequence[str],
        progress: Progress,
        some: Sequence[int],
        counts: Sequence[int],
    ) -> Iterator[Sequence[int]]:
        """Yield the nodes of the pods, by number, for these numbers of nodes of some groups."""
        sizes, numbers = np.array(counts), np.array(some, np.int32)
        pieces = np.cumsum(sizes) // _MOST_AT_ONCE
        for piece in np.unique(pieces):
            these = pieces == piece
            found = worlds.places(numbers[these], sizes[these], indices, uids, self.seed, progress.check)
            yield from found.T.tolist()

    def _option(self, group: NodeGroup, count: int, places: Sequence[int]) -> NodeGroupOption:
        """Return the option with ``count`` nodes, whose pods are on the nodes of these numbers."""
        pods = [each.pod for each in self.rest]
        left_over = tuple(LeftOver(pod) for pod, node in zip(pods, places, strict=True) if node < 0)
        placed = tuple((pod, node) for pod, node in zip(pods, places, strict=True) if node >= 0)
        return NodeGroupOption(group, count, left_over, placed)

    def _search(self, group: NodeGroup, fewest: int, unfit: int, by_plenty: int | None) -> Search:
        """Return the search for the number of nodes of a group.

        Args:
            group: The group.
            fewest: With fewer nodes some pod is left over that fits an empty one.
            unfit: How many pods don't fit an empty node.
            by_plenty: How many pods are left over with as many nodes as pods, if that is known.
        """
        most, waiting = self._most(group), len(self.rest)
        if by_plenty is None or by_plenty == unfit or most < waiting:
            return Search(fewest, fewest, most, waiting, unfit)
        return Search(1, fewest, most, waiting, by_plenty)

    def _by_itself(self, group: NodeGroup, progress: Progress) -> NodeGroupOption:
        """Try one group in the tree."""
        known: dict[int, Sequence[LeftOver]] = {0: self.rest}

        def placed(_: Sequence[int], counts: Sequence[int]) -> Iterator[Sequence[int]]:
            for count in counts:
                known[count] = self._left_by([(group, count)], progress)
                uids = {each.pod.metadata.uid for each in known[count]}
                yield [-1 if each.pod.metadata.uid in uids else 0 for each in self.rest]

        ((count, _),) = searched([Search(1, 1, self._most(group), len(self.rest), 0)], placed)
        return NodeGroupOption(group, count, tuple(known[count]))

    def _most(self, group: NodeGroup) -> int:
        """Return how many nodes may help."""
        return min(group.most, MOST_NODES, len(self.rest))

    def together(self, options: Sequence[NodeGroupOption], progress: Progress) -> Together | None:
        """Return what groups do together; None if a group alone leaves as few pods over.

        The first ``MOST_TOGETHER`` options get as many nodes as are needed. Then each gets as few as suffice
        with the others, the most expensive first. There may be a cheaper combination. Raises
        DeadlineExceededError or PluginFailureError as ``place_pending``.
        """
        groups = {option.group.name: option.group for option in options[:MOST_TOGETHER]}
        if len(groups) < 2 or not options[0].left_over:
            return None
        counts: dict[str, int] = {}

        def left_with(changes: Mapping[str, int]) -> list[LeftOver]:
            asked = {**counts, **changes}
            return self._left_by([(groups[name], count) for name, count in asked.items()], progress)

        def least(names: Iterable[str], most: int, unfit: int) -> int:
            """Return how many nodes of each of these groups suffice."""

            def placed_by(_: Sequence[int], asked: Sequence[int]) -> Iterator[Sequence[int]]:
                for count in asked:
                    left = left_with({name: min(count, self._most(groups[name])) for name in names})
                    yield [-1] * len(left) + [0] * (len(self.rest) - len(left))

            return searched([Search(1, 1, most, len(self.rest), unfit)], placed_by)[0][0]

        enough = least(groups, max(map(self._most, groups.values())), 0)
        counts = {name: min(enough, self._most(group)) for name, group in groups.items()}
        left = left_with({})
        if len(left) >= len(options[0].left_over):
            return None
        for name in sorted(groups, key=lambda each: -groups[each].price):
            spare = len(left_with({name: 0})) <= len(left)
            counts[name] = 0 if spare else least([name], counts[name], len(left))
        used = tuple((groups[name], count) for name, count in counts.items() if count)
        return Together(used, tuple(left_with({})))

    def lacking(self, counts: Sequence[tuple[NodeGroup, int]], progress: Progress) -> list[str]:
        """Return the topology domains, as ``key=value``, whose lack of nodes leaves pods over.

        Spread constraints ask for a place there: these domains have the fewest of the pods, and no room even
        with one more node of each group than ``counts``. Raises DeadlineExceededError or PluginFailureError
        as ``place_pending``.
        """
        self._add([(group, count + 1) for group, count in counts], progress)
        left = self._pending.place([each.pod for each in self.rest], progress)
        domains: dict[str, None] = {}
        for pod in alike([each.pod for each in left])[0]:
            profile = self.profile_of(pod)
            found, _ = self.work.engine.evaluate(pod, profile, ALL_NODES, evaluate_filters, progress=progress)
            spreading = found.state.get(HardCounts, HardCounts)
            if spreading is not None and any(REASON in status.reasons for status in found.statuses):
                for each in spreading.constraints:
                    key, nodes = each.rule.topology_key, self.work.tree.snapshot.nodes.nodes
                    there = (nodes[row] for row in each.emptiest())
                    domains |= {f"{key}={node.metadata.labels[key]}": None for node in there if node}
        self.work.go_back()
        return list(domains)[:MOST_LACKING]

    def _left_by(self, counts: Sequence[tuple[NodeGroup, int]], progress: Progress) -> list[LeftOver]:
        """Return the pods of the rest that get no node with ``counts`` more nodes of each group."""
        self._add(counts, progress)
        left = self._pending.place([each.pod for each in self.rest], progress)
        self.work.go_back()
        return left

    def daemons(self, group: NodeGroup) -> list[Pod]:
        """Return the DaemonSet pods that a new node of the group would get, as far as it has room."""
        return self._daemons.pods(*self._new_nodes(group, 1))

    def _add(self, counts: Sequence[tuple[NodeGroup, int]], progress: Progress) -> list[Node]:
        """Add new nodes of each group, each with its DaemonSet pods; return the nodes."""
        added: list[Node] = []
        for group, count in counts:
            nodes = self._new_nodes(group, count)
            self.work.tree.put_objects(nodes)
            self._daemons.start(nodes, progress)
            added += nodes
        return added

    def _new_nodes(self, group: NodeGroup, count: int) -> list[Node]:
        """Return new nodes of the group with names that no node has."""
        taken = self.work.tree.snapshot.nodes.index
        names = (name for number in itertools.count() if (name := f"{group.name}-{number}") not in taken)
        return [_named(group.template, name) for name in itertools.islice(names, count)]


def _named(template: Node, name: str) -> Node:
    """Return a node of the template, with the label of its own name."""
    labels = {**template.metadata.labels, HOSTNAME: name}
    own = replace(template.metadata, name=name, uid=f"node/{name}", labels=labels)
    return replace(template, metadata=own)
