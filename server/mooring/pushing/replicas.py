"""The replicas that a watcher pushes to: each address that a name stands for is one."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Self

import grpc
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.pushing.replica import Replica, Watched
from mooring.serving.addresses import UNIX, split
from mooring_client.errors import failure_of
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

log = logging.getLogger(__name__)

LOOK_UP_SECONDS: Final = 5.0
"""Between two look-ups of the names."""

CALL_SECONDS: Final = 10.0
"""How long a call may take. A slower replica gets the same events again, until the log has forgotten them."""

Connect = Callable[[str, str], grpc.Channel]
"""Returns a channel to an address, whose certificate is that of a name."""


class GrpcReceiver:
    """Calls a replica. For one thread; ends with its ``with`` block.

    Args:
        channel: The connection to it.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        decode = pb.PushObjectsResponse.FromString
        self._push: Any = channel.unary_unary("/mooring.v1.ClusterService/PushObjects", None, decode)
        self._cluster = ClusterServiceStub(channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def push(self, request: bytes) -> pb.PushObjectsResponse:
        """As ``Receiver`` says."""
        try:
            answer: pb.PushObjectsResponse = self._push(request, timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            raise failure_of(error) from None
        return answer

    def describe(self) -> pb.GetClusterInfoResponse:
        """As ``Receiver`` says."""
        try:
            return self._cluster.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            raise failure_of(error) from None


class Replicas:
    """Looks up names, and keeps the replica at each address up to date.

    Args:
        targets: HOST:PORT or unix:PATH each.
        watched: The content of the replicas.
        connect: Connects to an address.
    """

    def __init__(self, targets: Sequence[str], watched: Watched, connect: Connect) -> None:
        self._targets = tuple(dict.fromkeys(targets))
        self._watched = watched
        self._connect = connect
        self._found: dict[str, Sequence[str]] = {}
        self._replicas: dict[str, Replica] = {}
        self._lock = threading.Lock()

    def look_up(self) -> None:
        """Look the names up once; a name that can't be looked up keeps its addresses."""
        for target in self._targets:
            try:
                self._found[target] = addresses_of(target)
            except OSError as error:
                log.warning("%s can't be looked up: %s", target, error.strerror)
        wanted = {address: target for target, addresses in self._found.items() for address in addresses}
        with self._lock:
            for address in self._replicas.keys() - wanted.keys():
                self._replicas.pop(address).stop()
                log.info("%s: given up, no name has this address", address)
            for address in wanted.keys() - self._replicas.keys():
                self._begin(address, wanted[address])

    def stop(self) -> None:
        """End all, after the calls that are under way."""
        with self._lock:
            ended = list(self._replicas.values())
            self._replicas.clear()
        for replica in ended:
            replica.stop()
        for replica in ended:
            replica.join()

    def metrics(self) -> Iterator[Metric]:
        """Yield ``mooring_push_*``."""
        label = ("replica",)
        kept = GaugeMetricFamily(
            "mooring_push_kept",
            "1 while this watcher pushes to a replica, 0 while another does.",
            labels=label,
        )
        lag = GaugeMetricFamily(
            "mooring_push_lag_seconds",
            "Seconds since a replica was last known to have everything.",
            labels=label,
        )
        loads = CounterMetricFamily(
            "mooring_push_full_loads", "Full loads of a replica that were begun.", labels=label
        )
        with self._lock:
            replicas = list(self._replicas.values())
        for replica in replicas:
            kept.add_metric((replica.address,), float(replica.kept))
            loads.add_metric((replica.address,), replica.loads)
            if replica.kept:
                lag.add_metric((replica.address,), replica.lag)
        yield from (kept, lag, loads)

    def _begin(self, address: str, target: str) -> None:
        def connected() -> GrpcReceiver:
            return GrpcReceiver(self._connect(address, "" if address == target else split(target)[0]))

        self._replicas[address] = replica = Replica(address, self._watched, connected)
        replica.start()
        log.info("%s: found as an address of %s", address, target)


def addresses_of(target: str) -> Sequence[str]:
    """Return the addresses of HOST:PORT or unix:PATH, all of one family, because a replica may have both.

    Raises:
        OSError: The host can't be looked up.
    """
    if target.startswith(UNIX):
        return [target]
    host, port = split(target)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = sorted({str(each[4][0]) for each in found if each[0] == socket.AF_INET})
    if addresses:
        return [f"{address}:{port}" for address in addresses]
    return [f"[{address}]:{port}" for address in sorted({str(each[4][0]) for each in found})]
