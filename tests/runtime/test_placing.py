"""From the selected node to the binding: the order of the points, and what failure takes back."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    BindOutcome,
    BindPlugin,
    CycleState,
    PermitPlugin,
    Plugin,
    Pod,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
)
from mooring.framework.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    MooringError,
    NotFoundError,
    PluginFailureError,
    UnavailableError,
)
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.engine import Engine
from mooring.testing import make_node, make_pod

from .fakes import profile, registry_of

DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Binder:
    """Keeps what it binds, or fails."""

    def __init__(self, error: MooringError | None = None) -> None:
        self.error = error
        self.bound: list[tuple[str, str]] = []

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        if self.error is not None:
            raise self.error
        self.bound.append((pod.metadata.name, node_name))
        return BindOutcome.BOUND


def tracing(said: list[str], name: str, **answers: Status) -> type[Plugin[Any]]:
    """Return a plugin of all points after the choice; it notes each call and answers what is given."""

    class Tracing(
        ReservePlugin[None], PermitPlugin[None], PreBindPlugin[None], BindPlugin[None], PostBindPlugin[None]
    ):
        def _say(self, point: str) -> Status:
            said.append(f"{name}.{point}")
            return answers.get(point, SUCCESS)

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return self._say("reserve")

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            self._say("unreserve")

        def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
            return self._say("permit"), 0.0

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return self._say("pre_bind")

        def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            said.append(f"{name}.bind")
            return answers.get("bind", Status.skip())

        def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
            self._say("post_bind")

    Tracing.name = name
    return Tracing


def committer_of(binder: Binder, *plugins: type[Plugin[Any]]) -> tuple[Committer, Engine, State]:
    """Return a committer over one node; DefaultBinder comes last."""
    state = State()
    state.replace("test", [make_node("a")])
    config = profile(plugins)
    enabled = config["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    enabled.append(enabled.pop(1))
    registry = registry_of(plugins)
    engine = build_engine(from_document(config, registry.catalog()), registry, state, binder)
    return Committer(BindingCycle(engine)), engine, state


def taken(state: State) -> int:
    """Return how many pods the node has, assumed ones included."""
    return len(state.snapshot.pods.classes.uids_on(0))


def test_the_points_run_in_the_frameworks_order() -> None:
    said: list[str] = []
    binder = Binder()
    committer, engine, state = committer_of(binder, tracing(said, "One"), tracing(said, "Two"))
    placement = committer.place_pod(make_pod("web"), engine.profile(), ALL_NODES)
    assert said == [
        f"{plugin}.{point}"
        for point in ("reserve", "permit", "pre_bind", "bind", "post_bind")
        for plugin in ("One", "Two")
    ]
    assert placement.committed is not None
    assert (placement.status, placement.committed.outcome) == (SUCCESS, BindOutcome.BOUND)
    assert (binder.bound, taken(state)) == ([("web", "a")], 1)


@pytest.mark.parametrize(
    ("point", "answer", "ran"),
    [
        pytest.param("reserve", Status.unschedulable("no"), ["reserve"], id="reserve"),
        pytest.param("permit", Status.unschedulable("no"), ["reserve", "permit"], id="permit"),
        pytest.param("pre_bind", Status.error("no"), ["reserve", "permit", "pre_bind"], id="pre-bind"),
        pytest.param("bind", Status.error("no"), ["reserve", "permit", "pre_bind", "bind"], id="bind"),
    ],
)
def test_a_rejection_is_undone_in_reverse_and_the_node_is_free_again(
    point: str, answer: Status, ran: list[str]
) -> None:
    said: list[str] = []
    binder = Binder()
    committer, engine, state = committer_of(
        binder, tracing(said, "Other"), tracing(said, "One", **{point: answer})
    )
    placement = committer.place_pod(make_pod(), engine.profile(), ALL_NODES)
    assert (placement.status.code, placement.status.plugin) == (answer.code, "One")
    assert [call for call in said if call.startswith("One.")] == [f"One.{p}" for p in (*ran, "unreserve")]
    assert said[-2:] == ["One.unreserve", "Other.unreserve"]
    assert (binder.bound, taken(state)) == ([], 0)


@pytest.mark.parametrize(
    ("error", "kept", "last"),
    [
        pytest.param(
            FailedPreconditionError("x", reason="POD_DELETING"), 0, "One.unreserve", id="rejected: given back"
        ),
        pytest.param(NotFoundError("x", reason="POD_NOT_FOUND"), 0, "One.unreserve", id="gone: given back"),
        pytest.param(
            UnavailableError("x", reason="API_SERVER_UNAVAILABLE"),
            1,
            "One.bind",
            id="unknown: kept",
        ),
        pytest.param(DeadlineExceededError("x"), 1, "One.bind", id="out of time: stays reserved"),
    ],
)
def test_what_a_failed_binding_leaves_behind(error: MooringError, kept: int, last: str) -> None:
    said: list[str] = []
    committer, engine, state = committer_of(Binder(error), tracing(said, "One"))
    with pytest.raises(type(error)):
        committer.place_pod(make_pod(), engine.profile(), ALL_NODES)
    assert said[-1] == last
    assert taken(state) == kept


def test_out_of_time_before_the_binding_is_known_not_to_be_bound() -> None:
    class Late:
        plugin = extension_point = answered_by = ""
        may_call_plugins = True

        def check(self) -> None:
            if said:
                raise DeadlineExceededError("nobody waits any more")

    said: list[str] = []
    committer, engine, state = committer_of(Binder(), tracing(said, "One"))
    with pytest.raises(DeadlineExceededError):
        committer.place_pod(make_pod(), engine.profile(), ALL_NODES, progress=Late())
    assert said == ["One.reserve", "One.unreserve"]
    assert taken(state) == 0


@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind", "bind"])
def test_an_answer_that_is_no_status_fails_by_name(point: str) -> None:
    broken: Any = "yes"
    committer, engine, state = committer_of(Binder(), tracing([], "Odd", **{point: broken}))
    with pytest.raises(PluginFailureError, match=r"Odd.*returned str, not Status"):
        committer.place_pod(make_pod(), engine.profile(), ALL_NODES)
    assert taken(state) == 0


def test_a_raising_plugin_gives_the_node_back() -> None:
    class Raising(PreBindPlugin[None]):
        name = "Raising"

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            raise RuntimeError("lost the disk")

    committer, engine, state = committer_of(Binder(), Raising)
    with pytest.raises(PluginFailureError, match=r"Raising.*PreBind.*RuntimeError: lost the disk"):
        committer.place_pod(make_pod(), engine.profile(), ALL_NODES)
    assert taken(state) == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"node": "b"}, "POD_BOUND_ELSEWHERE", id="on another node"),
        pytest.param(
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "POD_DELETING", id="deleting"
        ),
        pytest.param({"spec": {"schedulingGates": [{"name": "wait"}]}}, "POD_GATED", id="gated"),
    ],
)
def test_pods_that_must_not_be_bound(fields: dict[str, Any], reason: str) -> None:
    binder = Binder()
    committer, engine, _ = committer_of(binder)
    for attempt in (
        lambda: committer.bind_pod(make_pod(**fields), "a", engine.profile()),
        lambda: committer.place_pod(make_pod(**fields), engine.profile(), ALL_NODES),
    ):
        with pytest.raises(FailedPreconditionError) as caught:
            attempt()
        assert caught.value.reason == reason
    assert binder.bound == []


def test_binding_again_to_the_same_node_is_safe() -> None:
    binder = Binder()
    committer, engine, state = committer_of(binder)
    outcomes = [committer.bind_pod(make_pod(), "a", engine.profile()).outcome for _ in range(2)]
    assert outcomes == [BindOutcome.BOUND, BindOutcome.ALREADY_BOUND]
    assert taken(state) == 1


def test_an_unknown_node_is_rejected() -> None:
    committer, engine, _ = committer_of(Binder())
    with pytest.raises(NotFoundError, match="'nowhere' is not known"):
        committer.bind_pod(make_pod(), "nowhere", engine.profile())
