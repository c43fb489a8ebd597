"""Rows of the soak that need no fault of the API server, with the real one.

They share the minutes of ``MOORING_E2E_SOAK_MINUTES``, with fresh seeds; once each by default.
"""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from mooring.cluster.api import ApiServer
from mooring.testing.builders import node_manifest
from tests.fake_api_server.faults import Faults
from tests.fake_api_server.history import Call, Entry, History
from tests.fake_api_server.people import People
from tests.laboratories.soak import leading, machine, rights, skew, slopes
from tests.laboratories.soak.rounds import Round, play
from tests.laboratories.soak.rows import ROWS
from tests.process import until

from .api import ApiError
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e

SIZE = 0.2
PATHS = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Node": "/api/v1/nodes",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
}


class RealApiServer:
    """A control plane with the methods of the fake one that the rows use; its start empties it.

    Attributes:
        faults: Empty.
        people: Empty, so no token is known.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.faults = Faults()
        self.people = People()
        self._plane = plane
        self._before = 0

    def __enter__(self) -> Self:
        self._plane.api.clear()
        for lease in self._plane.api.items(PATHS["Lease"]):
            if lease["metadata"]["name"] == "mooring":
                self._plane.api.call("DELETE", f"{PATHS['Lease']}/mooring")
        self._before = len(self._plane.audited())
        return self

    def __exit__(self, *_: object) -> None:
        """The control plane goes on."""

    def add(self, *items: dict[str, Any]) -> None:
        """Create nodes and pods."""
        for item in items:
            self._plane.api.create(item)

    def get(self, kind: str, name: str, _namespace: str = "") -> dict[str, Any] | None:
        """Return the object as it is."""
        try:
            return self._plane.api.call("GET", f"{PATHS[kind]}/{name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig file; return its path."""
        shutil.copy(self._plane.kubeconfig("mooring"), path)
        return path

    def client(self) -> ApiServer:
        """Return a client of another user."""
        return ApiServer.from_kubeconfig(self._plane.kubeconfig("admin"))

    @property
    def history(self) -> History:
        """The bindings, from the audit log, which is written after the answers."""
        pods = {pod["metadata"]["name"]: pod for pod in self._plane.api.pods()}
        bound = {name for name, pod in pods.items() if pod["spec"].get("nodeName")}
        until(lambda: bound <= {name for _, name in self._plane.bindings()}, "all lines of the audit log")
        history = History()
        for event in self._plane.audited()[self._before :]:
            if event["objectRef"].get("subresource") == "binding":
                path = event["requestURI"].partition("?")[0]
                call = Call("POST", path, {}, "", event["userAgent"], None)
                status, pod = event["responseStatus"]["code"], pods.get(event["objectRef"]["name"])
                history.add(Entry(call, status, status == 201, pod))
        return history


def _rounds() -> Iterator[int]:
    """Yield seeds until the time is over; at least one."""
    end = time.monotonic() + 60 * float(os.environ.get("MOORING_E2E_SOAK_MINUTES", "0")) / 6
    yield 1
    while time.monotonic() < end:
        yield secrets.randbits(32)


@pytest.mark.parametrize("row", ["C5", "G4", "G5", "G8", "H6"])
def test_a_row_with_the_real_api_server(
    row: str, shared_control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (leading, machine, rights, skew):
        monkeypatch.setattr(module, "FakeApiServer", partial(RealApiServer, shared_control_plane))
    for number, seed in enumerate(_rounds()):
        played = play(ROWS[row], Round(seed, SIZE))
        print(number, played)
        assert played.violation == "", played
        assert played.binds + played.inputs > 0


def test_the_load_soak_with_a_watched_cluster(control_plane: ControlPlane) -> None:
    """G1: memory, threads and descriptors stay as they are."""
    for at in range(50):
        control_plane.api.create(node_manifest(f"n{at}"))
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    for _ in _rounds():
        slice_ = slopes.measured(30.0, "--source", source)
        print(slice_)
        assert slice_.calls > 0
        slopes.check(slice_, slopes.MOST_IN_A_ROUND)
