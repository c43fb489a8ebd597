"""A process that binds pods and dies, by SIGKILL, at a named point: ``python -m tests.runtime.killed``.

Its arguments are the API server's URL and the points. For each point a child of its own binds what is still
pending until it dies there; the last child binds the rest.
"""

from __future__ import annotations

import os
import signal
import sys

import msgspec

from mooring.cluster.api import RESOURCES, ApiServer
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.decoding import decode_pod
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    BindOutcome,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PermitPlugin,
    Pod,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
)
from mooring.framework.errors import MooringError
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_node
from tests.process import until

from .committing import ROOM
from .fakes import profile, registry_of

POINTS = (
    "First.filter",
    "First.reserve",
    "Last.reserve",
    "First.permit",
    "Last.permit",
    "First.pre_bind",
    "Last.pre_bind",
    "before the request",
    "after the answer",
    "First.post_bind",
    "Last.post_bind",
    "Last.unreserve",
    "First.unreserve",
    "reading the outcome",
)
"""Where a child kills itself; the test adds what only the API server can see."""

NODES = 4
"""Between them they take just the pods that there are."""


class Dying:
    """Dies at the second time that a child comes to its point: by then something is under way."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._left = 2

    def at(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


def plugin_of(name: str, dying: Dying) -> type[ReservePlugin[None]]:
    """Return a plugin that comes by every point, and rejects every fifth pod once."""
    rejected: set[str] = set()

    class Passing(
        FilterPlugin[None],
        ReservePlugin[None],
        PermitPlugin[None],
        PreBindPlugin[None],
        PostBindPlugin[None],
    ):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            dying.at(f"{name}.filter")
            return SUCCESS

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            dying.at(f"{name}.reserve")
            return SUCCESS

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            dying.at(f"{name}.unreserve")

        def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
            dying.at(f"{name}.permit")
            return SUCCESS, 0.0

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            dying.at(f"{name}.pre_bind")
            if name == "Last" and pod.metadata.name.endswith(("0", "5")) and pod.key not in rejected:
                rejected.add(pod.key)
                return Status.unschedulable("not yet")
            return SUCCESS

        def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
            dying.at(f"{name}.post_bind")

    Passing.name = name
    return Passing


class DyingBinder(KubernetesBinder):
    """Comes by before and after each request."""

    def __init__(self, api: ApiServer, dying: Dying) -> None:
        super().__init__(api)
        self._dying = dying

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        self._dying.at("before the request")
        outcome = super().bind(pod, node_name)
        self._dying.at("after the answer")
        return outcome


class DyingApi(KubernetesApi):
    """Comes by before each read of a pod."""

    def __init__(self, api: ApiServer, dying: Dying) -> None:
        super().__init__(api)
        self._dying = dying

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        self._dying.at("reading the outcome")
        return super().read_pod(namespace, name)


def work(url: str, point: str) -> None:
    """Bind every pod that is pending, until none is or the point is reached."""
    from kubernetes.client import Configuration

    configuration = Configuration()
    configuration.host = url
    dying = Dying(point)
    api = ApiServer(lambda: configuration)
    state = State()
    listed = msgspec.json.decode(
        api.request("GET", RESOURCES["Pod"].collection()).body, type=dict[str, msgspec.Raw]
    )
    pods = [decode_pod(bytes(item)) for item in msgspec.json.decode(listed["items"], type=list[msgspec.Raw])]
    nodes = [make_node(f"n{at}", allocatable={ROOM: len(pods) // NODES}) for at in range(NODES)]
    state.replace("test", [*nodes, *pods])
    plugins = [plugin_of(name, dying) for name in ("First", "Last")]
    registry = registry_of(plugins)
    document = profile([plugins[0], NodeResourcesFit, plugins[1]])
    engine = build_engine(
        from_document(document, registry.catalog()), registry, state, DyingBinder(api, dying)
    )
    cycle = BindingCycle(engine, api=DyingApi(api, dying), settling_seconds=0.0)
    committer = Committer(cycle)
    for pod in [*pods, *pods]:
        record = state.snapshot.pods.get(pod.metadata.uid)
        if record is not None and not record.pod.spec.node_name:
            try:
                committer.place_pod(pod, engine.profile(), ALL_NODES)
            except MooringError as error:
                print(pod.metadata.name, error.reason, flush=True)
                if point == POINTS[-1]:
                    # Another thread reads it: meanwhile this one would bind what is for the next points.
                    until(lambda: not len(committer.reservations))
    until(lambda: not len(committer.reservations))


def main() -> int:
    import kubernetes.client  # noqa: F401 - once here and not in every child

    registry_of([])
    url, *points = sys.argv[1:]
    for point in [*points, ""]:
        child = os.fork()
        if not child:
            work(url, point)
            os._exit(0)
        _, ended = os.waitpid(child, 0)
        expected = -signal.SIGKILL if point else 0
        if os.waitstatus_to_exitcode(ended) != expected:
            print(f"point {point!r}: ended with {ended}, not {expected}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
