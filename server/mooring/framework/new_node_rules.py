"""Rules by which a plugin rejects new nodes that are alike, as numbers of pods.

New nodes of a group differ in their name alone. So nothing matters but how many pods of some sort there are
in a topology domain: that of one node, by its hostname, or that of the whole group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mooring.kernels.arrays import Bools, Int32s, Int64s

NO_OTHER = 1 << 40
"""The fewest pods of another domain if there is no other: more than any domain has."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedPods:
    """Pods of some sort, counted by domain, for each of G groups of new nodes.

    Attributes:
        by_node: Each new node is a domain of its own; else all nodes of a group are in the same one.
        adds: int64[K], for how many a pod of each kind counts.
        there: int64[G], how many are in the domain already.
        counting: bool[G], whether pods on new nodes count.
    """

    by_node: bool
    adds: Int64s
    there: Int64s
    counting: Bools

    def among(self, groups: Int32s) -> CountedPods:
        """Return the same for some groups (int32[A])."""
        return replace(self, there=self.there[groups], counting=self.counting[groups])


@dataclass(frozen=True, slots=True, eq=False)
class OtherDomains:
    """The domains of existing nodes, without the domain of a group.

    Attributes:
        least: int64[G], the fewest pods that one of them has; ``NO_OTHER`` without any.
        count: int64[G], how many there are.
        own: bool[G], whether the group's domain counts as one whether or not ``CountedPods.counting``.
        enough: With fewer domains, the fewest pods of a domain are 0.
    """

    least: Int64s
    count: Int64s
    own: Bools
    enough: int

    def among(self, groups: Int32s) -> OtherDomains:
        """Return the same for some groups (int32[A])."""
        return replace(self, least=self.least[groups], count=self.count[groups], own=self.own[groups])


@dataclass(frozen=True, slots=True, eq=False)
class AtMost:
    """A rule that rejects a node if its domain has more than a number of pods.

    Attributes:
        pods: The pods.
        most: How many more it may have than the domain with the fewest.
        inside: bool[G], whether the nodes are in a domain; others are rejected.
        others: The other domains; None = the fewest pods don't matter.
    """

    pods: CountedPods
    most: int
    inside: Bools
    others: OtherDomains | None = None

    @property
    def sorts(self) -> tuple[CountedPods, ...]:
        """All pods that it counts."""
        return (self.pods,)

    def among(self, groups: Int32s) -> AtMost:
        """Return the same for some groups (int32[A])."""
        others = None if self.others is None else self.others.among(groups)
        return replace(self, pods=self.pods.among(groups), inside=self.inside[groups], others=others)

    def counting(self, same: Callable[[CountedPods], CountedPods]) -> AtMost:
        """Return the same with other objects for its sorts of pods."""
        return replace(self, pods=same(self.pods))


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """A node is rejected unless its domain has a pod of each sort.

    Attributes:
        pods: The sorts, one for each topology key.
        inside: bool[G], whether the nodes are in a domain of each key.
        elsewhere: Whether a node that is there has such pods.
        first: Without any such pod, the pod may go to any node that is inside.
    """

    pods: tuple[CountedPods, ...]
    inside: Bools
    elsewhere: bool
    first: bool

    @property
    def sorts(self) -> tuple[CountedPods, ...]:
        """All pods that it counts."""
        return self.pods

    def among(self, groups: Int32s) -> Near:
        """Return the same for some groups (int32[A])."""
        pods = tuple(each.among(groups) for each in self.pods)
        return replace(self, pods=pods, inside=self.inside[groups])

    def counting(self, same: Callable[[CountedPods], CountedPods]) -> Near:
        """Return the same with other objects for its sorts of pods."""
        return replace(self, pods=tuple(map(same, self.pods)))


Rule = AtMost | Near
