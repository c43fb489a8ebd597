"""An estimator over a real service, and the messages that Karmada sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc

from mooring.kubernetes.v1.affinity_pb2 import NodeSelector
from mooring.kubernetes.v1.meta_pb2 import Quantity
from mooring.kubernetes.v1.pod_pb2 import Toleration
from mooring_adapter.listener import AdapterListener
from mooring_adapter.mooring import Mooring
from mooring_estimator.estimator import Estimator, offered
from mooring_estimator.wire import estimator_service_pb2 as pb
from mooring_estimator.wire.estimator_service_pb2_grpc import EstimatorStub
from tests.service.backends import listening, world

NOW = 1_800_000_000.0


@contextmanager
def listener(*objects: Any, cluster: str = "", profile: str = "") -> Iterator[str]:
    """Yield the address of an estimator over these objects."""
    with world(*objects) as w, listening(w.backend) as address:
        mooring = Mooring(address)
        answering = Estimator(mooring, cluster, profile, now=lambda: NOW)
        listener = AdapterListener("127.0.0.1:0", offered(answering), mooring)
        listener.start()
        try:
            yield listener.address
            assert len(w.backend.sessions) == 0
        finally:
            listener.stop(None)


@contextmanager
def estimator(*objects: Any, **options: str) -> Iterator[EstimatorStub]:
    with listener(*objects, **options) as address, grpc.insecure_channel(address) as channel:
        yield EstimatorStub(channel)


def quantities(requests: Mapping[str, str]) -> dict[str, bytes]:
    return {name: Quantity(string=text).SerializeToString() for name, text in requests.items()}


def selector(key: str, *values: str) -> bytes:
    selector = NodeSelector()
    selector.node_selector_terms.add().match_expressions.add(key=key, operator="In", values=values)
    return selector.SerializeToString()


def toleration(key: str) -> bytes:
    return Toleration(key=key, operator="Exists").SerializeToString()


def component(replicas: int, cpu: str, name: str = "c") -> pb.Component:
    needs = pb.ComponentReplicaRequirements(resource_request_bytes=quantities({"cpu": cpu}))
    return pb.Component(name=name, replicas=replicas, replica_requirements=needs)
