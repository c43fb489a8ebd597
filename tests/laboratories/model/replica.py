"""The code under the model: one replica, whose calls run only while the driver waits for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import cache
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

from mooring.cluster.api import ApiServer, ClientOptions, Response
from mooring.cluster.api.connection import ApiRequest
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.decoding import decode_pod
from mooring.cluster.state import State
from mooring.config import Configuration, from_document
from mooring.framework import SUCCESS, CycleState, Node, Pod, PodGroupInfo, PreBindPlugin, Status
from mooring.framework.errors import DeadlineExceededError, MooringError, UnavailableError
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import ManualClock
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.group_commit import GroupCommitter, PlacedGroup
from mooring.runtime.commit.reservations import Stage
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember
from mooring.runtime.engine import Engine
from mooring.testing import make_node
from mooring.testing.builders import pod_manifest
from tests.laboratories.model import states
from tests.laboratories.model.states import GONE, NODES, NOWHERE, PODS
from tests.runtime.committing import ROOM
from tests.runtime.fakes import profile, registry_of

PATIENCE = 20.0
"""Seconds after which a call that neither ends nor waits for the driver counts as hanging."""


class DifferenceError(AssertionError):
    """The code does something else than the model."""


class Crashed(BaseException):
    """The process of a call is gone."""


class Call(threading.Thread):
    """A call of the code that may have to wait.

    Attributes:
        point: The point at which it waits: ``pre``, ``post``, ``get`` or ``group``; "" = it has ended.
        pod: The pod that it works on.
        posts: How many bindings of the pod it has sent.
        left: Its caller waits no longer.
        found: Its result.
        error: Its error.
    """

    plugin = extension_point = answered_by = ""
    may_call_plugins = True

    def __init__(self, work: Callable[[Call], Any]) -> None:
        super().__init__(daemon=True)
        self.point = ""
        self.pod = -1
        self.posts = 0
        self.left = False
        self.found: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._told: SimpleQueue[None] = SimpleQueue()
        self._goes_on: SimpleQueue[Callable[[], Any]] = SimpleQueue()

    def run(self) -> None:
        try:
            self.found = self._work(self)
        except (MooringError, Crashed) as error:
            self.error = error
        except BaseException as error:  # noqa: BLE001 - told by the driver
            self.error = DifferenceError(repr(error))
            self.error.__cause__ = error
        self.point = ""
        self._told.put(None)

    def check(self) -> None:
        """As a caller's ``Progress``."""
        if self.left:
            raise DeadlineExceededError("nobody waits any more")

    def wait(self, point: str, pod: int) -> Any:
        """Wait for the driver, at ``point``; return what it answers, or raise."""
        if pod != self.pod:
            self.pod, self.posts = pod, 0
        self.point = point
        self.posts += point == "post"
        self._told.put(None)
        return self._goes_on.get()()

    def begin(self) -> None:
        """Run until it waits or ends."""
        self.start()
        self._told.get(timeout=PATIENCE)

    def go_on(self, answer: Callable[[], Any] = lambda: None) -> None:
        """Answer what it waits for; run until it waits again or ends."""
        self._goes_on.put(answer)
        self._told.get(timeout=PATIENCE)


class Pausing(PreBindPlugin[None]):
    """Waits for the driver between the decision about a pod and its binding."""

    name = "Pausing"

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        call = threading.current_thread()
        assert isinstance(call, Call)
        call.wait("pre", int(pod.metadata.name))
        return SUCCESS


@cache
def _configured() -> tuple[Configuration, Any]:
    registry = registry_of([Pausing])
    return from_document(profile([NodeResourcesFit, Pausing]), registry.catalog()), registry


@cache
def _nodes() -> list[Node]:
    return [make_node(str(node), allocatable={ROOM: 1}) for node in NODES]


def _manifest(number: int, node: int) -> dict[str, Any]:
    placed = "" if node in (NOWHERE, GONE) else str(node - 1)
    metadata = {"uid": f"uid-{number}"}
    return pod_manifest(str(number), node=placed, requests={ROOM: 1}, metadata=metadata)


@cache
def pod_of(number: int, node: int = NOWHERE) -> Pod:
    return decode_pod(_encoded(number, node))


@cache
def _encoded(number: int, node: int) -> bytes:
    return json.dumps(_manifest(number, node)).encode()


class Server:
    """The API server as one replica reaches it; as much of ``ApiServer`` as a binder uses."""

    options = ClientOptions()

    def __init__(self) -> None:
        self.truth: list[int] = []

    def send(self, request: ApiRequest, timeout: float | None = None) -> Response:
        """Return a binding, once it may go out."""
        if request.before is not None:
            request.before()
        call = threading.current_thread()
        assert isinstance(call, Call)
        answer: Response = call.wait("post", int(request.path.split("/")[-2]))
        return answer

    def request(self, method: str, path: str, **_: Any) -> Response:
        """Return a read; the driver itself is answered at once."""
        number = int(path.rsplit("/", maxsplit=1)[-1])
        call = threading.current_thread()
        if isinstance(call, Call):
            answer: Response = call.wait("get", number)
            return answer
        return self.read(number)

    def read(self, number: int) -> Response:
        """Return the answer to a read."""
        if self.truth[number] == GONE:
            return Response(404, body=b"{}")
        return Response(200, body=_encoded(number, self.truth[number]))


LIVES = 100
"""A process is left to the garbage collector after this many lives: each listens to the state to its end."""

SPARE: list[Replica] = []


def lost() -> Response:
    """Raise what a request raises that nothing answers."""
    raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")


def _crash() -> Response:
    raise Crashed


class TheGroup:
    """Both pods; as much of ``PodGroupInfo`` as committing uses."""

    min_count = 2

    def scheduled(self, snapshot: Any) -> Sequence[Pod]:
        """Return those that have a node."""
        return [record.pod for record in snapshot.pods.records.values() if record.node_name]


class Deciding:
    """An engine that decides about the group once, always the same."""

    def __init__(self, engine: Engine) -> None:
        self.state = engine.state
        self._decided = False

    def decide_group(self, group: Any, *_: Any, **__: Any) -> GroupDecision:
        """Return the decision; the second time the group is rejected."""
        fits = SUCCESS if not self._decided else Status.unschedulable("decided before")
        self._decided = True
        members = tuple(GroupMember(pod_of(pod), _choice(pod), fits, fits.message) for pod in PODS)
        return GroupDecision(group, fits, members)


def _choice(pod: int) -> Choice:
    return cast("Choice", SimpleNamespace(node_name=str(states.GROUP_NODE[pod])))


class Stepping:
    """A committer whose calls about the group's pods wait for the driver first."""

    def __init__(self, committer: Committer, call: Call) -> None:
        self._committer = committer
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._committer, name)

    def reserve_pod(self, pod: Pod, *args: Any, **fields: Any) -> Any:
        self._call.wait("group", int(pod.metadata.name))
        return self._committer.reserve_pod(pod, *args, **fields)

    def bind_pod(self, pod: Pod, *args: Any, **fields: Any) -> Any:
        self._call.wait("group", int(pod.metadata.name))
        return self._committer.bind_pod(pod, *args, **fields)

    def unreserve_pod(self, namespace: str, name: str, *args: Any, **fields: Any) -> Any:
        self._call.wait("group", int(name))
        return self._committer.unreserve_pod(namespace, name, *args, **fields)


class Replica:
    """One process, for several lives: to build an engine takes longer than a walk.

    Attributes:
        lives: How often it has started.
        leads: Whether it holds the lease by its own clock.
        calls: By pod, the call that works on it.
        group: The call about the group.
    """

    def __init__(self) -> None:
        self.lives = 0
        self.state = State()
        self.server = Server()
        self._api = cast("ApiServer", self.server)
        configuration, registry = _configured()
        self.engine = build_engine(configuration, registry, self.state, KubernetesBinder(self._api, self))

    def begin(self, truth: list[int]) -> None:
        """Start: whatever the life before knew is lost."""
        self.lives += 1
        self.leads = False
        self.calls: dict[int, Call] = {}
        self.group: Call | None = None
        self.clock = ManualClock()
        self.server.truth = truth
        pods = [pod_of(number, truth[number]) for number in PODS if truth[number] != GONE]
        self.state.replace("test", [*_nodes(), *pods], discard=True)
        reader = KubernetesApi(self._api, self)
        self.cycle = BindingCycle(self.engine, leadership=self, api=reader, clock=self.clock)
        # The driver decides when the resolver comes; its thread never starts.
        self.cycle._resolver.resolve_later = lambda *_: None  # type: ignore[method-assign]
        self.committer = Committer(self.cycle)

    def is_leader(self) -> bool:
        return self.leads

    def leader(self) -> str:
        return ""

    def bind(self, pod: int, node: int) -> Call:
        """Begin to bind."""
        profile = self.engine.profile()
        call = Call(lambda own: self.committer.bind_pod(pod_of(pod), str(node), profile, progress=own))
        call.begin()
        return call

    def place_group(self) -> Call:
        """Begin to place the group."""

        def work(own: Call) -> PlacedGroup:
            engine = cast("Engine", Deciding(self.engine))
            committer = GroupCommitter(engine, cast("Committer", Stepping(self.committer, own)))
            group = cast("PodGroupInfo", TheGroup())
            return committer.place_group(group, self.engine.profile(), owner="group", bind=True)

        call = Call(work)
        call.begin()
        return call

    def crash(self) -> None:
        """End every call; they continue with objects that nothing else reads."""
        for call in {*self.calls.values(), *([self.group] if self.group else [])}:
            while call.point:
                call.go_on(_crash)
            call.join(PATIENCE)

    def at(self, pod: int) -> tuple[int, int]:
        """Return what it does with a pod, and on which node, as the model numbers that."""
        reservation = self.cycle.reservations.find_reservation(f"uid-{pod}")
        record = self.state.snapshot.pods.get(f"uid-{pod}")
        if reservation is None:
            assumed = record is not None and record.assumed
            return (states.ASSUMED, int(record.node_name)) if record and assumed else (states.NONE, 0)
        node = int(reservation.commit.node_name)
        if reservation.stage is Stage.RESERVED:
            return states.RESERVED, node
        if reservation.stage is Stage.UNKNOWN:
            return states.UNKNOWN, node
        call = self.calls.get(pod)
        if call is None:
            raise DifferenceError(f"pod {pod} is being bound, and no call does that")
        first = call.posts <= 1
        at = {
            "pre": states.PRE,
            "post": states.SENT if first else states.SENT_AGAIN,
            "get": states.READ if first else states.READ_AGAIN,
        }
        return at[call.point], node

    def place(self, pod: int) -> int:
        """Return where its state has the pod."""
        record = self.state.snapshot.pods.get(f"uid-{pod}")
        if record is None:
            return GONE
        return int(record.node_name) + 1 if record.node_name else NOWHERE
