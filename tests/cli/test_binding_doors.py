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

POD = PodReference(namespace="default", name="p", uid="u")
TEMPLATES = [pb.PodTemplate(pod=PodSource(reference=POD))]
MODE = pb.COMMIT_MODE_BIND
CALLS: dict[str, tuple[str, Any]] = {
    "Bind": ("Bind", pb.BindRequest(pod=POD, node="n1")),
    "Schedule": ("Schedule", pb.ScheduleRequest(templates=TEMPLATES, commit_mode=MODE)),
}
GROUPS = ("ScheduleGroups", pb.ScheduleGroupsRequest(groups=[pb.GroupToSchedule()], commit_mode=MODE))
ORDER = json.dumps({"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n1"}).encode()
REJECTED = "the client (without a certificate that names it) may not call"
WARNED = "--insecure-binding: any program that reaches 127.0.0.1:0 may bind any pod to any node"


@dataclass(frozen=True)
class Doors:
    """A server that follows a cluster, with an adapter in it, and an adapter beside it."""

    fake: FakeApiServer
    server: Started
    adapter: Started

    def node(self) -> str:
        stored = self.fake.get("Pod", "p")
        assert stored is not None
        return str(stored["spec"].get("nodeName", ""))

    def call(self, method: str, request: Any) -> str:
        """Why the call over gRPC is rejected; "" = it is not."""
        with grpc.insecure_channel(self.server.address("grpc")) as channel:
            try:
                getattr(SchedulingServiceStub(channel), method)(request, timeout=30)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
                    raise
                return str(error.details())
        return ""

    def post(self, url: str) -> str:
        """Why the extender's verb is rejected; "" = it is not."""
        status, body = fetch(f"{url}/bind", ORDER)
        text = json.loads(body)
        assert status == (403 if "error" in text else 200), text
        return str(text.get("error", text.get("Error")))

    def inside(self) -> str:
        return self.post(self.server.address("extender"))

    def beside(self) -> str:
        return self.post(self.adapter.ready.split()[-1])


WAYS: dict[str, Callable[[Doors], str]] = {
    **{name: lambda doors, call=call: doors.call(*call) for name, call in CALLS.items()},  # type: ignore[misc]
    "extender in the server": Doors.inside,
    "extender beside it": Doors.beside,
}


@contextmanager
def doors(folder: Path, *flags: str, adapter: tuple[str, ...] = ()) -> Iterator[Doors]:
    with FakeApiServer() as fake, ExitStack() as running:
        fake.add(node("n1"), pod("p", metadata={"uid": "u"}))
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
        assert {name: REJECTED in way(there) for name, way in WAYS.items()} == dict.fromkeys(WAYS, True)
        assert REJECTED in there.call(*GROUPS)
        assert there.node() == ""
        reserved = pb.ScheduleRequest(templates=TEMPLATES, commit_mode=pb.COMMIT_MODE_RESERVE)
        assert there.call("Schedule", reserved) == ""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_flag_lets_all_bind_and_is_warned_of(way: Callable[[Doors], str], tmp_path: Path) -> None:
    flag = ("--insecure-binding",)
    with doors(tmp_path, *flag, adapter=flag) as there:
        assert (way(there), there.node()) == ("", "n1")
        assert there.server.log.read_text().count(WARNED) == 2, "for gRPC and for the extender"
        assert there.adapter.log.read_text().count(WARNED) == 1


def test_the_owner_of_a_unix_socket_binds_and_lends_that_to_nobody(tmp_path: Path) -> None:
    """The adapter beside the server connects to the socket, so its own callers need a certificate."""
    with doors(tmp_path, "--listen", f"unix:{tmp_path}/mooring.sock") as there:
        assert (REJECTED in there.beside(), there.node()) == (True, "")
        assert (there.call(*CALLS["Bind"]), there.node()) == ("", "n1")
