"""A client that behaves, in a process of its own: harm is what it meets while others attack.

``python -m tests.good_client GRPC [EXTENDER]`` calls 100 times a second: Schedule and the extender's filter
alternately, or GetClusterInfo without an extender. A line on standard input has a number of calls; the client
waits for that many and prints their results.
"""

from __future__ import annotations

import http.client
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import grpc

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import cluster_service_pb2_grpc as cluster_grpc
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2_grpc as pb_grpc

ROOT = Path(__file__).parents[1]
TIMEOUT = 5.0
"""Seconds after which a call counts as failed: what kube-scheduler leaves an extender by default."""

PAUSE = 0.01
LEAST = 20
"""Calls in a measurement, at least."""

MAX_FAILED = 2
"""After more failures the client stops waiting for other calls: each may take its whole timeout."""

POD = {
    "metadata": {"name": "good", "namespace": "default", "uid": "good"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
}


@dataclass
class Calls:
    """Results of calls.

    Attributes:
        seconds: How long each took, ascending.
        failed: The distinct errors.
    """

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return the seconds that this share of the calls, in [0, 1), took at most."""
        return self.seconds[int(len(self.seconds) * share)]


class GoodClient:
    """The process, seen from the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def calls(self, count: int = LEAST) -> Calls:
        """Return the calls since the last time; wait for ``count``, or until too many have failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return Calls(**json.loads(self._process.stdout.readline()))


@contextmanager
def good_client(address: str, *extender: str) -> Iterator[GoodClient]:
    """Yield a good client of the server, and of its extender if that is given, for the block."""
    command = [sys.executable, "-m", __name__, address, *extender]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        yield GoodClient(process)
    finally:
        process.communicate()


class Asking:
    """A thread that calls until it is stopped."""

    def __init__(self, address: str, extender: str = "") -> None:
        self._channel = grpc.insecure_channel(address)
        self._cluster = cluster_grpc.ClusterServiceStub(self._channel)
        self._scheduling = pb_grpc.SchedulingServiceStub(self._channel)
        self._questions = (self._schedule, self._filter) if extender else (self._cluster_info,)
        self._http = http.client.HTTPConnection(extender, timeout=TIMEOUT)
        self._lock = threading.Lock()
        self._calls = Calls()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._channel.close()
        self._http.close()

    def taken(self, count: int) -> Calls:
        """Return the calls since the last time, once there are ``count`` or too many have failed."""
        while True:
            with self._lock:
                if len(self._calls.seconds) >= count or len(self._calls.failed) > MAX_FAILED:
                    calls, self._calls = self._calls, Calls()
                    return Calls(sorted(calls.seconds), sorted(set(calls.failed)))
            time.sleep(PAUSE)

    def _run(self) -> None:
        questions = itertools.cycle(self._questions)
        while not self._stopped.wait(PAUSE):
            began, failure = time.perf_counter(), ""
            try:
                next(questions)()
            except grpc.RpcError as error:
                failure = str(error.code())
            except (OSError, http.client.HTTPException) as error:
                failure = f"filter: {type(error).__name__}: {error}"
                self._http.close()
            with self._lock:
                self._calls.seconds.append(time.perf_counter() - began)
                if failure:
                    self._calls.failed.append(failure)

    def _cluster_info(self) -> None:
        self._cluster.GetClusterInfo(cluster.GetClusterInfoRequest(), timeout=TIMEOUT)

    def _schedule(self) -> None:
        pod = objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=json.dumps(POD).encode()))
        request = pb.ScheduleRequest(
            templates=[pb.PodTemplate(pod=pod)], nodes=nodes_pb2.NodeSelection(all=nodes_pb2.AllNodes())
        )
        self._scheduling.Schedule(request, timeout=TIMEOUT)

    def _filter(self) -> None:
        body = json.dumps({"Pod": POD, "Nodes": None, "NodeNames": ["worker-a1", "worker-b1"]})
        self._http.request("POST", "/filter", body, {"Content-Type": "application/json"})
        response = self._http.getresponse()
        answer = json.loads(response.read())
        if response.status != 200 or answer.get("Error"):
            raise http.client.HTTPException(f"{response.status} {answer.get('Error')}")


def main(address: str, *extender: str) -> None:
    with Asking(address, *extender) as asking:
        for count in sys.stdin:
            calls = asking.taken(int(count))
            print(json.dumps({"seconds": calls.seconds, "failed": calls.failed}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
