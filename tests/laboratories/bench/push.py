"""``make bench PART=push``: one watcher with ten replicas, and a server that watches by itself.

    python -m tests.laboratories.bench.push --nodes 5000 --replicas 10

The fake API server changes a thousand objects a second. One pod, the marker, gets another label twice a
second, and the benchmark reads it from every server ten times a second. The delay is from the change to the
first answer that has it, so it includes the pause between two reads. Both kinds of server are read alike.
Then the connection of a replica is cut, and another replica is started again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

import grpc

from mooring.client_check.doors import Door
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest, GetObjectRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.fake_api_server import FakeApiServer
from tests.laboratories.bench.api_server import made_nodes, made_pods
from tests.laboratories.bench.processes import processor_seconds, serve_arguments, started
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Repeat, Sample, Workload, percentile
from tests.process import free_port, until

PODS_PER_NODE = 4
CHANGES_PER_SECOND = 1000
TARGETS = {"delay p99 ms": "1000 / 300", "CPU of a self-watching one": "1.5 / 1.0"}
CUT_SECONDS = 2.0
LABEL = "number"
"""The label that changes."""


class Changes:
    """Changes pods of a fake API server, CHANGES_PER_SECOND, until it is left.

    Args:
        fake: The API server.
        pods: Its pods; the first is the marker.

    Attributes:
        marked: When the marker got each of its labels, by label.
    """

    def __init__(self, fake: FakeApiServer, pods: Sequence[dict[str, Any]]) -> None:
        self._fake = fake
        self._pods = pods
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.marked: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for number in _endless():
            pause = began + number / CHANGES_PER_SECOND - time.monotonic()
            if pause > 0 and self._stop.wait(pause):
                return
            if number % (CHANGES_PER_SECOND // 2):
                self._change(1 + number % (len(self._pods) - 1), str(number))
            else:
                self.mark(str(number))

    def mark(self, label: str) -> None:
        """Change the marker."""
        self.marked[label] = time.monotonic()
        self._change(0, label)

    def _change(self, at: int, label: str) -> None:
        pod = self._pods[at]
        meta = pod["metadata"]
        self._fake.add({**pod, "metadata": {**meta, "labels": {**meta["labels"], LABEL: label}}})


def _endless() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


class MarkerReader:
    """Reads the marker from a server.

    Args:
        address: The server's address.
        marker: The marker.
    """

    def __init__(self, address: str, marker: dict[str, Any]) -> None:
        meta = marker["metadata"]
        self._channel = grpc.insecure_channel(address)
        self._stub = ClusterServiceStub(self._channel)
        self._request = GetObjectRequest(kind="Pod", namespace=meta["namespace"], name=meta["name"])

    def label(self) -> str:
        """Return the marker's label; "" while the server does not know it."""
        try:
            found = self._stub.GetObject(self._request, timeout=20)
        except grpc.RpcError:
            return ""
        labels: dict[str, str] = json.loads(found.object.json)["metadata"].get("labels", {})
        return labels.get(LABEL, "")

    def pods(self) -> int:
        """Return how many pods it knows."""
        return self._stub.GetClusterInfo(GetClusterInfoRequest(), timeout=20).pod_count

    def close(self) -> None:
        """End the connection."""
        self._channel.close()


def workloads(nodes: int, replicas: int, seconds: float) -> list[Workload]:
    """Return the one there is."""
    name = f"push/{nodes}Nodes{nodes * PODS_PER_NODE}Pods/{replicas}Replicas"
    return [Workload(name, partial(_prepare, nodes, replicas, seconds), TARGETS)]


def _prepare(nodes: int, replicas: int, seconds: float, running: ExitStack) -> Repeat:
    fake = FakeApiServer(bookmark_seconds=30)
    fake.add(*made_nodes(nodes))
    pods = fake.add(*made_pods(nodes * PODS_PER_NODE, nodes))
    fake.store.compact()
    running.enter_context(fake)
    folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
    cluster = f"kubernetes:{fake.kubeconfig(folder / 'kubeconfig')}"
    ports = [free_port() for _ in range(replicas)]
    servers = [_server("push", f"127.0.0.1:{port}") for port in ports]
    first = running.enter_context(ExitStack())
    ready = [(first if not at else running).enter_context(started(*each)) for at, each in enumerate(servers)]
    door = Door(ports[-1])
    running.callback(door.close)
    targets = [f"--replica=127.0.0.1:{port}" for port in ports[:-1]] + [f"--replica={door.target}"]
    watcher = running.enter_context(
        started("mooring", "push", f"--source={cluster}", "--metrics-listen=127.0.0.1:0", *targets)
    )
    alone = running.enter_context(started(*_server(cluster, "127.0.0.1:0")))
    addresses = [_named(line) for line in (*ready, alone)]
    readers = [MarkerReader(each["grpc"], pods[0]) for each in addresses]
    for each in readers:
        running.callback(each.close)
        until(lambda each=each: each.pods() == len(pods), "all pods", 300)  # type: ignore[misc]
    scraped = [_named(watcher)["metrics"], *(each["metrics"] for each in addresses)]

    def repeat() -> Sample:
        with Changes(fake, pods) as changes:
            time.sleep(1)
            before = [processor_seconds(address) for address in scraped]
            delays = _delays(changes, readers, seconds)
            used = [processor_seconds(address) - was for address, was in zip(scraped, before, strict=True)]
        every = [delay for found in delays[:-1] for delay in found]
        return {
            "delay p50 ms": percentile(every, 50) * 1e3,
            "delay p99 ms": percentile(every, 99) * 1e3,
            "its own watch's p99 ms": percentile(delays[-1], 99) * 1e3,
            "replica CPU %": 100 * sum(used[1:-1]) / replicas / seconds,
            "self-watching CPU %": 100 * used[-1] / seconds,
            "CPU of a self-watching one": sum(used[1:-1]) / replicas / used[-1],
            "watcher CPU %": 100 * used[0] / seconds,
            "equal after a cut ms": _after_a_cut(door, changes, readers[-2]) * 1e3,
            "equal after a restart ms": _after_a_restart(first, servers[0], pods) * 1e3,
        }

    return repeat


def _server(source: str, listen: str) -> list[str]:
    return ["mooring", *serve_arguments(source, listen, {"--extender-listen": ""})]


def _named(ready: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in ready.split() if "=" in word)


def _delays(changes: Changes, readers: Sequence[MarkerReader], seconds: float) -> list[list[float]]:
    """Read from all servers for ``seconds``; return by server the delay of each label of the marker."""
    found: list[dict[str, float]] = [{} for _ in readers]
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        for each, seen in zip(readers, found, strict=True):
            if label := each.label():
                seen.setdefault(label, time.monotonic())
        time.sleep(max(now + 0.1 - time.monotonic(), 0))
    return [
        [at - changes.marked[label] for label, at in seen.items() if label in changes.marked][1:]
        for seen in found
    ]


def _after_a_cut(door: Door, changes: Changes, cut: MarkerReader) -> float:
    """Cut a replica off; return the seconds from then, when it can be reached, until it has everything."""
    door.shut(CUT_SECONDS)
    changes.mark("cut")
    time.sleep(CUT_SECONDS)
    began = time.monotonic()
    until(lambda: cut.label() == "cut", "the replica to be equal")
    return time.monotonic() - began


def _after_a_restart(first: ExitStack, server: Sequence[str], pods: Sequence[dict[str, Any]]) -> float:
    """Start a replica again; return the seconds from its first line until it has everything."""
    first.close()
    ready = first.enter_context(started(*server))
    began = time.monotonic()
    reader = MarkerReader(_named(ready)["grpc"], pods[0])
    until(lambda: reader.pods() == len(pods), "the replica to be equal")
    reader.close()
    return time.monotonic() - began


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "push") -> int:
    """Measure, print and write the report.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.push", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, default=5000, help="size of the cluster")
    add("--replicas", type=int, default=10, help="servers that are pushed to")
    add("--seconds", type=float, default=20.0, help="how long each measurement lasts")
    add("--repeats", type=int, default=3, help="repeats")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    found = measure_all(workloads(args.nodes, args.replicas, args.seconds), args.repeats)
    publish("One watcher and many replicas", found, folder, "bench-push" if args.record else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
