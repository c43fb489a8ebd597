"""The cost of one pod for kube-scheduler: filter, then prioritize, one connection, one call at a time.

``Changing`` is what a scheduler at work asks: the names in another order for each pod, as several of its
threads look for nodes, and a row changed by the pod before. Elsewhere the cluster stays as it is.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, NamedTuple

import grpc

from tests.laboratories.bench.cluster import node_manifests, node_name, pending_json
from tests.laboratories.bench.http_client import HttpClient
from tests.laboratories.bench.processes import start_adapter, start_server
from tests.laboratories.bench.remote import Changes
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload, percentile, timed, timed_for


class Started(NamedTuple):
    """A server: the URL that answers extender calls, and its address for gRPC."""

    url: str
    grpc: str


Placement = Callable[[ExitStack, int], Started]
"""Starts a server with this number of nodes."""

Nodes = Callable[[], bytes]
"""The nodes of the next pod's question, as its last two fields."""

EXTRA_LABELS, IMAGES = 20, 40
"""With these a node takes about 6 kB of JSON."""

CHANGING = "names in another order, and a row changed, for each pod"

TARGETS = {
    ("InServer", "500Names"): ("0.6 / 0.35", ""),
    ("InServer", "5000Names"): ("2.5 / 1.4", "6 / 2.5"),
    ("AdapterUnix", "500Names"): ("1.2 / 0.7", ""),
    ("AdapterUnix", "5000Names"): ("4 / 2.2", ""),
    ("InServer", "5000Nodes"): ("240 / 150", ""),
}


def workloads(size: Size) -> list[Workload]:
    """Return each placement of the adapter, with few names and with all, out of a cluster of ``size.nodes``.

    ``Changing`` comes first: it is what kube-scheduler asks. ``Reordered`` has its order of names alone.
    ``Nodes`` is the price of ``nodeCacheCapable: false``.
    """
    placements: dict[str, Placement] = {
        "InServer": _in_server,
        "AdapterTCP": partial(_adapter, over_unix=False),
        "AdapterUnix": partial(_adapter, over_unix=True),
    }
    found = []
    for count, (placement, start) in itertools.product((size.few, size.nodes), placements.items()):
        some = _some(size.nodes, count)
        shuffled = partial(reordered, some)
        if placement != "AdapterTCP":
            found.append(_workload(size, placement, f"{count}NamesChanging", start, shuffled, changing=True))
        found.append(_workload(size, placement, f"{count}Names", start, partial(_names, some)))
        if placement != "AdapterTCP":
            found.append(_workload(size, placement, f"{count}NamesReordered", start, shuffled))
    in_full = partial(_in_full, size.nodes)
    found.append(_workload(size, "InServer", f"{size.nodes}Nodes", _in_server_in_full, in_full))
    return found


def _workload(
    size: Size,
    placement: str,
    question: str,
    start: Placement,
    ask: Callable[[], Nodes],
    *,
    changing: bool = False,
) -> Workload:
    p50, p99 = TARGETS.get((placement, question), ("", ""))
    return Workload(
        f"extender/FilterPrioritize/{question}/{placement}",
        partial(_prepare, size, start, ask, changing=changing),
        {"both p50 ms": p50, "both p99 ms": p99},
        note=CHANGING if changing else "the cluster stays as it is",
    )


def _some(nodes: int, count: int) -> list[str]:
    return random.Random(count).sample([node_name(number) for number in range(nodes)], count)


def _names(names: list[str]) -> Nodes:
    always = listed(names)
    return lambda: always


def reordered(names: list[str]) -> Nodes:
    """Always the same names, in another order each time."""
    order = random.Random(len(names))
    return lambda: listed(order.sample(names, len(names)))


def listed(names: list[str]) -> bytes:
    """Return the nodes of a question by name."""
    return b'"Nodes":null,"NodeNames":%s' % json.dumps(names, separators=(",", ":")).encode()


def _in_full(count: int) -> Nodes:
    manifests = node_manifests(count, extra_labels=EXTRA_LABELS, images=IMAGES)
    items = [json.dumps(node, separators=(",", ":")).encode() for node in manifests]
    order = random.Random(count)

    def nodes() -> bytes:
        return b'"Nodes":{"metadata":{},"items":[%s]},"NodeNames":null' % b",".join(
            order.sample(items, count)
        )

    return nodes


def _in_server(running: ExitStack, nodes: int) -> Started:
    server = start_server(running, nodes)
    return Started(server["extender"], server["grpc"])


def _adapter(running: ExitStack, nodes: int, *, over_unix: bool) -> Started:
    server = start_server(running, nodes, over_unix=over_unix)["grpc"]
    return Started(start_adapter(running, server), server)


def _in_server_in_full(running: ExitStack, nodes: int) -> Started:
    server = start_server(running, nodes, extra_labels=EXTRA_LABELS, images=IMAGES)
    return Started(server["extender"], server["grpc"])


def _prepare(
    size: Size, start: Placement, ask: Callable[[], Nodes], running: ExitStack, *, changing: bool
) -> Repeat:
    server = start(running, size.nodes)
    client = running.enter_context(closing(HttpClient(server.url)))
    next_pod = partial(_next_pod, client, itertools.count(), ask())
    changes = Changes(running.enter_context(grpc.insecure_channel(server.grpc))) if changing else None

    def call() -> tuple[float, float]:
        if changes is not None:
            changes.next()
        return next_pod()

    _check(client, ask()())
    timed_for(size.seconds / 4, call)
    return lambda: _repeat(size, call)


def _check(client: HttpClient, nodes: bytes) -> None:
    """Check that every node passes and gets a score, so that prioritize gets the same nodes as filter."""
    body = _body(0, nodes)
    passed = json.loads(client.exchange(client.request("/filter", body)))
    scored = json.loads(client.exchange(client.request("/prioritize", body)))
    asked = _names_in(json.loads(body))
    if _names_in(passed) != asked or [host["Host"] for host in scored] != asked:
        raise RuntimeError(
            f"of {len(asked)} nodes {len(_names_in(passed))} passed, {len(scored)} have a score"
        )


def _names_in(document: dict[str, Any]) -> list[str]:
    names: list[str] = document["NodeNames"] or [n["metadata"]["name"] for n in document["Nodes"]["items"]]
    return names


def _body(number: int, nodes: bytes) -> bytes:
    return b'{"Pod":%s,%s}' % (pending_json(number), nodes)


def _next_pod(client: HttpClient, numbers: itertools.count[int], nodes: Nodes) -> tuple[float, float]:
    return one_pod(client, numbers, nodes())


def one_pod(client: HttpClient, numbers: itertools.count[int], nodes: bytes) -> tuple[float, float]:
    """Return the seconds that filter and prioritize take for the next pod, with ``nodes``."""
    body = _body(next(numbers), nodes)
    filtering, scoring = client.request("/filter", body), client.request("/prioritize", body)
    return timed(lambda: client.exchange(filtering)), timed(lambda: client.exchange(scoring))


def _repeat(size: Size, call: Callable[[], tuple[float, float]]) -> Sample:
    took: list[tuple[float, float]] = []
    timed_for(size.seconds, lambda: took.append(call()))
    both = [filtering + scoring for filtering, scoring in took]
    return {
        "both p50 ms": percentile(both, 50) * 1e3,
        "both p99 ms": percentile(both, 99) * 1e3,
        "filter p50 ms": percentile((pair[0] for pair in took), 50) * 1e3,
        "prioritize p50 ms": percentile((pair[1] for pair in took), 50) * 1e3,
    }
