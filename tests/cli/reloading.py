"""A server whose configuration file changes while pods are decided: good ones, bad ones, and back.

``python -m tests.cli.reloading SECONDS RATE`` prints the results of RATE decisions a second.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc

from mooring import config
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.plugin_service_pb2 import ListProfilesRequest
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import fetch, scoring, serving, write_config
from tests.process import wait_until

THREADS = 4
LOOK_SECONDS = 0.1
"""Seconds between two reads of the server's state: reading it more often costs more than the decisions do."""
POD = objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=b'{"metadata":{"name":"p","uid":"u"}}'))
BAD = ("profiles: [", "", "kind: ConfigMap", "\0")
"""States of a file while it is written, or after a typing error."""


@dataclass
class Reloaded:
    """Results of reloading under load.

    Attributes:
        seconds: How long decisions were requested.
        known: The hashes of the configurations that were good, in the order in which they were in force.
        seen: The hash of each decision, in order, by the thread that requested it.
        failed: Calls that failed.
        rejected: How many bad files were rejected.
    """

    seconds: float = 0.0
    known: list[str] = field(default_factory=list)
    seen: list[list[str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    rejected: int = 0


def weights(file: Path, weight: int) -> str:
    """Write a configuration with this weight; returns its hash."""
    write_config(file, scoring(("NodeResourcesFit", weight)))
    return config.load(file.read_text(), new_in_tree_registry().catalog()).hash


@contextmanager
def deciding(scheduling: SchedulingServiceStub, rate: float, found: Reloaded) -> Iterator[None]:
    """Request ``rate`` decisions a second from some threads; 0 = without a pause."""
    stop, pause = threading.Event(), THREADS / rate if rate else 0.0
    request = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)])

    def ask(seen: list[str]) -> None:
        due = time.monotonic()
        while not stop.is_set():
            try:
                seen.append(scheduling.Schedule(request).provenance.configuration_hash)
            except grpc.RpcError as error:
                found.failed.append(str(error))
            due += pause
            time.sleep(max(0.0, due - time.monotonic()))

    found.seen = [[] for _ in range(THREADS)]
    asking = [threading.Thread(target=ask, args=(seen,)) for seen in found.seen]
    began = time.monotonic()
    for each in asking:
        each.start()
    try:
        yield
    finally:
        stop.set()
        for each in asking:
            each.join()
        found.seconds = time.monotonic() - began


def reload(folder: Path, changes: int, rate: float = 0.0, pause: float = 0.0) -> Reloaded:
    """Change the file ``changes`` times, each time to a bad one first, and wait until each decides or is
    rejected.
    """
    file, found = folder / "c.yaml", Reloaded()
    found.known.append(weights(file, 1))
    with (
        serving("--config", file) as server,
        grpc.insecure_channel(server.address("grpc")) as channel,
    ):
        metrics, plugins = f"http://{server.address('metrics')}/metrics", PluginServiceStub(channel)

        def succeeds(value: int) -> bool:
            return f"mooring_config_reload_success {value}.0".encode() in fetch(metrics)[1]

        def in_force(configuration: str) -> bool:
            return plugins.ListProfiles(ListProfilesRequest()).configuration_hash == configuration

        def by(configuration: str) -> bool:
            return any(seen[-1:] == [configuration] for seen in found.seen)

        with deciding(SchedulingServiceStub(channel), rate, found):
            for change in range(changes):
                file.write_text(BAD[change % len(BAD)])
                wait_until(lambda: succeeds(0), "the rejection", pause=LOOK_SECONDS)
                assert in_force(found.known[-1])
                found.rejected += 1
                new = weights(folder / "new", 2 + change)
                found.known.append(new)
                (folder / "new").replace(file)
                wait_until(partial(in_force, new), "the new configuration", pause=LOOK_SECONDS)
                wait_until(partial(by, new), "a decision by it", pause=LOOK_SECONDS)
                time.sleep(pause)
    return found


def in_order(found: Reloaded) -> bool:
    """Return whether each thread saw the configurations in the order of their time, and no others."""
    places = [[found.known.index(one) if one in found.known else -1 for one in seen] for seen in found.seen]
    return all(-1 not in seen and seen == sorted(seen) for seen in places)


def _main(seconds: float, rate: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = reload(Path(folder), max(1, int(seconds / 2)), rate)
    count, new = sum(map(len, found.seen)), len(found.known) - 1
    print(f"{count} decisions in {found.seconds:.1f} s: {count / found.seconds:,.0f}/s")
    print(f"{new} new configurations and {found.rejected} bad files")
    print(f"{len(found.failed)} calls failed; configurations in order: {in_order(found)}")


if __name__ == "__main__":
    _main(float(sys.argv[1]), float(sys.argv[2]))
