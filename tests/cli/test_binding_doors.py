"""The doors by which a program on this machine may try to have a pod bound without a certificate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodReference, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import BIN, Started, fetch, program, serving_process
from tests.cluster.following import node, pod
from tests.fake_api_server import FakeApiServer
from tests.process import until

MODE = pb.COMMIT_MODE_BIND
PODS = tuple(f"p{number}" for number in range(4))


def reference(pod: str) -> PodReference:
    return PodReference(namespace="default", name=pod, uid=f"uid-{pod}")


def bind(pod: str) -> tuple[str, Any]:
    return "Bind", pb.BindRequest(pod=reference(pod), node="n1")


def schedule(pod: str, mode: pb.CommitMode.ValueType = MODE) -> tuple[str, Any]:
    templates = [pb.PodTemplate(pod=PodSource(reference=reference(pod)))]
    return "Schedule", pb.ScheduleRequest(templates=templates, commit_mode=mode)


GROUPS = ("ScheduleGroups", pb.ScheduleGroupsRequest(groups=[pb.GroupToSchedule()], commit_mode=MODE))
REJECTED = "the client (without a certificate that names it) may not call"
WARNED = "--insecure-binding: any program that reaches 127.0.0.1:0 may bind any pod to any node"


@dataclass(frozen=True)
class Doors:
    """A server that follows a cluster, with an adapter in its process and another adapter in a process of its
    own.
    """

    fake: FakeApiServer
    server: Started
    adapter: Started

    def node(self, pod: str) -> str:
        stored = self.fake.get("Pod", pod)
        assert stored is not None
        return str(stored["spec"].get("nodeName", ""))

    def call(self, method: str, request: Any) -> str:
        """Return why the call over gRPC is rejected; "" = it is not."""
        with grpc.insecure_channel(self.server.address("grpc")) as channel:
            try:
                getattr(SchedulingServiceStub(channel), method)(request, timeout=30)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
                    raise
                return str(error.details())
        return ""

    def post(self, url: str, pod: str) -> str:
        """Return why the extender's verb is rejected; "" = it is not."""
        order = {"PodName": pod, "PodNamespace": "default", "PodUID": f"uid-{pod}", "Node": "n1"}
        status, body = fetch(f"{url}/bind", json.dumps(order).encode())
        text = json.loads(body)
        assert status == (403 if "error" in text else 200), text
        return str(text.get("error", text.get("Error")))

    def inside(self, pod: str) -> str:
        return self.post(self.server.address("extender"), pod)

    def beside(self, pod: str) -> str:
        return self.post(self.adapter.ready.split()[-1], pod)


WAYS: dict[str, Callable[[Doors, str], str]] = {
    "Bind": lambda doors, pod: doors.call(*bind(pod)),
    "Schedule": lambda doors, pod: doors.call(*schedule(pod)),
    "extender in the server": Doors.inside,
    "extender beside it": Doors.beside,
}


@contextmanager
def doors(folder: Path, *flags: str, adapter: tuple[str, ...] = ()) -> Iterator[Doors]:
    with FakeApiServer() as fake, ExitStack() as running:
        fake.add(node("n1"), *(pod(name, metadata={"uid": f"uid-{name}"}) for name in PODS))
        source = f"kubernetes:{fake.kubeconfig(folder / 'kubeconfig')}"
        more = ("--source", source, "--extender-listen", "127.0.0.1:0", *flags)
        server = running.enter_context(serving_process(folder, *more))
        asked = ("--listen", "127.0.0.1:0", "--server", server.address("grpc"), "--drain-delay", "0")
        beside = program(folder, BIN / "mooring-extender", *asked, *adapter)
        readyz = f"http://{server.address('metrics')}/readyz"
        until(lambda: fetch(readyz)[0] == 200, "readiness")
        yield Doors(fake, server, running.enter_context(beside))


def test_to_come_from_this_machine_is_not_enough_to_bind(tmp_path: Path) -> None:
    with doors(tmp_path) as there:
        assert {name: REJECTED in way(there, "p0") for name, way in WAYS.items()} == dict.fromkeys(WAYS, True)
        assert REJECTED in there.call(*GROUPS)
        assert there.node("p0") == ""
        assert there.call(*schedule("p0", pb.COMMIT_MODE_RESERVE)) == ""


@pytest.mark.slow
def test_a_flag_lets_all_bind_and_is_warned_of(tmp_path: Path) -> None:
    flag = ("--insecure-binding",)
    with doors(tmp_path, *flag, adapter=flag) as there:
        answers = {name: way(there, pod) for (name, way), pod in zip(WAYS.items(), PODS, strict=True)}
        assert answers == dict.fromkeys(WAYS, "")
        assert [there.node(pod) for pod in PODS] == ["n1"] * len(PODS)
        assert there.server.log.read_text().count(WARNED) == 2, "for gRPC and for the extender"
        assert there.adapter.log.read_text().count(WARNED) == 1


@pytest.mark.slow
def test_the_owner_of_a_unix_socket_binds_and_lends_that_to_nobody(tmp_path: Path) -> None:
    """The separate adapter connects to the socket, so its own callers need a certificate."""
    with doors(tmp_path, "--listen", f"unix:{tmp_path}/mooring.sock") as there:
        assert (REJECTED in there.beside("p0"), there.node("p0")) == (True, "")
        assert (there.call(*bind("p0")), there.node("p0")) == ("", "n1")
