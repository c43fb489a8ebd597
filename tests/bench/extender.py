"""What one pod costs kube-scheduler: filter, then prioritize, one connection, one call at a time."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial

from tests.bench.cluster import node_name, pending_json
from tests.bench.http_client import HttpClient
from tests.bench.processes import start_adapter, start_server
from tests.bench.workload import Repeat, Sample, Size, Workload, percentile, timed, timed_for

Placement = Callable[[ExitStack, int], str]
"""Starts a server with so many nodes and gives the URL that answers extender calls."""

TARGETS = {
    ("InServer", 500): ("0.6 / 0.35", ""),
    ("InServer", 5000): ("2.5 / 1.4", "6 / 2.5"),
    ("AdapterUnix", 500): ("1.2 / 0.7", ""),
    ("AdapterUnix", 5000): ("4 / 2.2", ""),
}


def workloads(size: Size) -> list[Workload]:
    """Each placement of the adapter, with few names and with all, out of a cluster of ``size.nodes``."""
    placements: dict[str, Placement] = {
        "InServer": _in_server,
        "AdapterTCP": partial(_adapter, over_unix=False),
        "AdapterUnix": partial(_adapter, over_unix=True),
    }
    found = []
    for names, (placement, start) in itertools.product((size.few, size.nodes), placements.items()):
        p50, p99 = TARGETS.get((placement, names), ("", ""))
        found.append(
            Workload(
                f"extender/FilterPrioritize/{names}Names/{placement}",
                partial(_prepare, size, names, start),
                {"both p50 ms": p50, "both p99 ms": p99},
            )
        )
    return found


def _in_server(running: ExitStack, nodes: int) -> str:
    return start_server(running, nodes)["extender"]


def _adapter(running: ExitStack, nodes: int, *, over_unix: bool) -> str:
    return start_adapter(running, start_server(running, nodes, over_unix=over_unix)["grpc"])


def _prepare(size: Size, names: int, start: Placement, running: ExitStack) -> Repeat:
    client = running.enter_context(closing(HttpClient(start(running, size.nodes))))
    chosen = random.Random(names).sample([node_name(number) for number in range(size.nodes)], names)
    numbers = itertools.count()
    call = partial(one_pod, client, numbers, json.dumps(chosen, separators=(",", ":")).encode())
    _check(client, chosen)
    timed_for(size.seconds / 4, call)
    return lambda: _repeat(size, call)


def _check(client: HttpClient, names: list[str]) -> None:
    """Every node passes and gets a score, so that prioritize is asked about the same names as filter."""
    body = _body(0, json.dumps(names).encode())
    passed = json.loads(client.exchange(client.request("/filter", body)))["NodeNames"]
    scored = json.loads(client.exchange(client.request("/prioritize", body)))
    if passed != names or [host["Host"] for host in scored] != names:
        raise RuntimeError(f"of {len(names)} nodes {len(passed)} passed and {len(scored)} have a score")


def _body(number: int, names: bytes) -> bytes:
    return b'{"Pod":%s,"Nodes":null,"NodeNames":%s}' % (pending_json(number), names)


def one_pod(client: HttpClient, numbers: itertools.count[int], names: bytes) -> tuple[float, float]:
    body = _body(next(numbers), names)
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
