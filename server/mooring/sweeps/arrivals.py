"""In which order pods come, and how many of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mooring.framework import NodeTable, Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.pod_requests import pod_usage


@dataclass(frozen=True, slots=True)
class PodArrivals:
    """How the pending pods of a cluster come.

    Attributes:
        shuffled: Those of one priority come in an order that the seed decides, otherwise as they are given.
        resource: Pods come again, drawn at random, until enough of this is requested; "" = each comes once.
        percent: How much of the resource is enough, in percent of all nodes' amounts; 0 or more.
    """

    shuffled: bool = False
    resource: str = ""
    percent: float = 0.0

    def of(self, pods: Sequence[Pod], nodes: NodeTable, seed: int) -> list[Pod]:
        """Return the pods as they come. Raises InvalidArgumentError if no node offers the resource, or no pod
        requests it.
        """
        dice = random.Random(seed)  # noqa: S311 - arrivals, not secrets
        coming = list(pods)
        if self.shuffled:
            dice.shuffle(coming)
        if self.resource:
            coming += self._more(pods, offered(nodes, self.resource), dice)
        return coming

    def _more(self, pods: Sequence[Pod], available: int, dice: random.Random) -> Iterator[Pod]:
        """Yield copies until so much is requested; the one that would be too much no longer comes."""
        requests = [dict(pod_usage(pod).requests).get(self.resource, 0) for pod in pods]
        if not available or not any(requests):
            who = "pod requests" if available else "node offers"
            raise InvalidArgumentError.at("resource", f"no {who} {self.resource!r}")
        most = available * self.percent / 100
        requested, count = sum(requests), 0
        while True:
            drawn = dice.randrange(len(pods))
            requested += requests[drawn]
            if requested > most:
                return
            yield _copy(pods[drawn], count)
            count += 1


def offered(nodes: NodeTable, resource: str) -> int:
    """Return how much of a resource all nodes offer together."""
    at = nodes.resource_index.get(resource, -1)
    return int(nodes.allocatable[at, nodes.rows()].sum()) if 0 <= at < len(nodes.allocatable) else 0


def _copy(pod: Pod, number: int) -> Pod:
    meta = pod.metadata
    name, uid = f"{meta.name}-again-{number}", f"{meta.uid}/again-{number}"
    return replace(pod, metadata=replace(meta, name=name, uid=uid))
