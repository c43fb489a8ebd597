"""The free amounts of a node when pods leave it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Mapping, Sequence

from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodRecord
from mooring.framework.resources import PODS


def frees(usage: PodUsage, names: Collection[str]) -> bool:
    """Return whether a pod that leaves gives back any of the resources named, ``pods`` among them."""
    return PODS in names or any(amount and name in names for name, amount in usage.requests)


def requests_on(row: int, records: Sequence[PodRecord], name: str) -> list[int]:
    """Return what those of these pods that are on a node request of a resource."""
    there = (dict(each.kind.usage.requests) for each in records if each.row == row)
    return [requests.get(name, int(name == PODS)) for requests in there]


def most_freed(amounts: Sequence[list[int]], counting: Sequence[bool], fewest: int, count: int) -> int:
    """Return the most that ``count`` of these come to, of which at least ``fewest`` are ``counting``."""
    must = itertools.chain.from_iterable(itertools.compress(amounts, counting))
    some = itertools.chain.from_iterable(amounts)
    return sum(heapq.nlargest(fewest, must)) + sum(heapq.nlargest(count - fewest, some))


def freed(room: Mapping[str, int], moved: Sequence[PodRecord], row: int) -> dict[str, int]:
    """Return what is left of the resources of a node without these pods."""
    left = dict(room)
    for record in moved:
        if record.row != row:
            continue
        for name, amount in (*record.kind.usage.requests, (PODS, 1)):
            if name in left:
                left[name] += amount
    return left
