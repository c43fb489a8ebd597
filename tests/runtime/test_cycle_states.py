"""CycleStates of plugins that are cached between decisions: updated with the pods since, or
computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    CacheablePlugin,
    CycleState,
    Dependencies,
    NodeView,
    Part,
    Pod,
    PodChange,
    PreFilterPlugin,
    Status,
)
from mooring.runtime.cache.layers.dynamic_scores import CycleStates
from mooring.runtime.cycle.plugin_calls import NoDeadline, Observer, PluginCalls
from mooring.runtime.tuning import DEFAULT_TUNING
from mooring.testing import make_node, make_pod

POD, CALLS = make_pod("new"), PluginCalls("default-scheduler", NoDeadline(), Observer())
SERVICE = from_manifest(
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}}
)


@dataclass
class Following(PreFilterPlugin[None], CacheablePlugin):
    """Follows, or doesn't, and records its updates."""

    parts: Part = Part.PODS
    follows: bool = True
    told: list[tuple[str, int]] = field(default_factory=list)

    __hash__ = object.__hash__
    name = "Following"

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=(), parts=self.parts)

    def update(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        self.told += [(record.name, amount) for _, record, amount in changes]
        return self.follows

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return SUCCESS


def cluster() -> State:
    state = State()
    state.replace("test", [make_node("a"), make_node("b")])
    return state


def come(state: State, *names: str, node: str = "a") -> None:
    state.apply("test", [Put(make_pod(name, node=node)) for name in names])


def differ(state: State, kinds: int) -> None:
    """Add one pod of each kind, ``kinds`` in all, and a second one of the first kind."""
    apps = [*map(str, range(kinds)), "0"]
    pods = [make_pod(f"p{at}", labels={"app": app}, node="a") for at, app in enumerate(apps)]
    state.apply("test", map(Put, pods))


def kept_over(happens: Callable[[State], None], *plugins: Following) -> tuple[bool, list[tuple[str, int]]]:
    """Return whether notes are still there after ``happens``, and the updates of the first plugin."""
    state = cluster()
    kept, noted = CycleStates(state, POD, plugins), CycleState()
    kept.keep(noted, state.version)
    happens(state)
    return kept.at(state.version, CALLS) is noted, plugins[0].told


def test_plugins_are_told_once_of_the_pods_on_nodes() -> None:
    state, plugin = cluster(), Following()
    kept, noted = CycleStates(state, POD, [plugin]), CycleState()
    kept.keep(noted, state.version)
    come(state, "waiting", node="")
    come(state, "one", "two")
    come(state, "one", node="b")
    assert kept.at(state.version, CALLS) is noted
    assert plugin.told == [("one", 1), ("two", 1), ("one", -1), ("one", 1)]
    kept.keep(noted, state.version)
    assert kept.at(state.version, CALLS) is noted
    assert len(plugin.told) == 4


def test_they_are_told_of_nothing_that_is_later_than_the_version() -> None:
    state, plugin = cluster(), Following()
    kept, noted = CycleStates(state, POD, [plugin]), CycleState()
    kept.keep(noted, state.version)
    come(state, "one")
    version = state.version
    come(state, "two")
    assert kept.at(version, CALLS) is noted
    assert plugin.told == [("one", 1)]


@pytest.mark.parametrize(
    ("plugins", "happens", "stay"),
    [
        pytest.param([Following()], lambda _: None, True, id="nothing"),
        pytest.param([Following(follows=False)], lambda _: None, True, id="nothing, to one that can't"),
        pytest.param([Following(follows=False)], lambda state: come(state, "one"), False, id="it can't"),
        pytest.param(
            [Following(), Following(follows=False)],
            lambda state: come(state, "one"),
            False,
            id="another can't",
        ),
        pytest.param([Following()], lambda state: state.apply("test", [Put(SERVICE)]), True, id="not read"),
        pytest.param(
            [Following(parts=Part.PODS | Part.OBJECTS)],
            lambda state: state.apply("test", [Put(SERVICE)]),
            False,
            id="an object that it reads",
        ),
        pytest.param(
            [Following()],
            lambda state: come(state, *(f"p{at}" for at in range(DEFAULT_TUNING.updated_pods + 1))),
            False,
            id="too much",
        ),
        pytest.param(
            [Following()], lambda state: differ(state, DEFAULT_TUNING.changed_kinds), True, id="many kinds"
        ),
        pytest.param(
            [Following()],
            lambda state: differ(state, DEFAULT_TUNING.changed_kinds + 1),
            False,
            id="too many kinds",
        ),
    ],
)
def test_notes_are_found_out_anew_when_they_cant_follow(
    plugins: list[Following], happens: Callable[[State], None], stay: bool
) -> None:
    assert kept_over(happens, *plugins)[0] is stay


def test_what_may_have_been_read_of_a_later_version_is_not_kept() -> None:
    state, plugin = cluster(), Following()
    kept, noted = CycleStates(state, POD, [plugin]), CycleState()
    version = state.version
    come(state, "meanwhile")
    kept.keep(noted, version)
    assert kept.at(state.version, CALLS) is not noted


def test_notes_are_gone_once_a_decision_that_used_them_failed() -> None:
    state, plugin = cluster(), Following()
    kept, noted = CycleStates(state, POD, [plugin]), CycleState()
    kept.keep(noted, state.version)
    assert kept.at(state.version, CALLS) is noted
    assert kept.at(state.version, CALLS) is not noted
