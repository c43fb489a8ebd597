"""Kept answers: after any history each of them is the one that an evaluation in full gives."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.framework import Int32s
from mooring.framework.state import ClusterState
from mooring.runtime.answers import NeedsPlugins
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import evaluate_filters, evaluate_scores
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import Found
from mooring.runtime.cycle.plugin_calls import Observer
from mooring.runtime.engine import Engine
from mooring.testing import make_pod
from tests.examples import examples
from tests.runtime.test_cached_equals_full import EMPTY_NODES, NODES, TEMPLATES, History, Step, histories


class Calls(Observer):
    """Counts the calls of plugins."""

    def __init__(self) -> None:
        self.count = 0

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str, count: int = 1) -> None:
        self.count += 1


def decided(found: Found | NeedsPlugins) -> Found:
    """Return the result, found with plugins."""
    assert not isinstance(found, NeedsPlugins)
    return found


class Questions(History):
    """A history with questions about some nodes, in any order."""

    def ask(self, template: str, names: list[str]) -> None:
        pod = make_pod("asking", metadata={"uid": "asking"}, **TEMPLATES[template])
        profile = self.engine.profile()
        rows = Candidates(partial(_rows, names=names))
        full, version = self.engine.evaluate(pod, profile, rows, run=evaluate_filters)
        found, at = decided(self.engine.filter(pod, profile, rows))
        assert (at, _verdicts(found), found.message) == (version, _verdicts(full), full.message)
        if found.scores is not None:
            feasible = full.rows[full.feasible]
            alone, _ = self.engine.evaluate(pod, profile, Candidates(lambda _: feasible), run=evaluate_scores)
            assert _totals(found) == _totals(alone)
        full, version = self.engine.evaluate(pod, profile, rows, run=evaluate_scores)
        found, at = decided(self.engine.score(pod, profile, rows))
        assert (at, _totals(found)) == (version, _totals(full))


def _rows(state: ClusterState, names: list[str]) -> Int32s:
    index = state.snapshot.nodes.index
    return np.array([index[name] for name in names if name in index], np.int32)


def _verdicts(evaluation: Evaluation) -> list[object]:
    return [
        evaluation.rejection,
        evaluation.rows.tolist(),
        *(evaluation.statuses[at] for at in evaluation.codes),
    ]


def _totals(evaluation: Evaluation) -> list[int]:
    assert evaluation.scores is not None
    totals: list[int] = evaluation.scores.totals.tolist()
    return totals


@st.composite
def questions(draw: st.DrawFn) -> list[Step]:
    """Return a history with questions in between."""
    asked: list[Step] = []
    some = draw(st.lists(st.sampled_from(sorted(TEMPLATES)), min_size=1, max_size=2))
    for step in draw(histories())[:25]:
        names = draw(st.lists(st.sampled_from(NODES), unique=True))
        asked += [step, ("ask", draw(st.sampled_from(some)), names)]
    return asked


# A node that rejects, and goes on to do so for another reason.
OTHER_REASON: list[Step] = [
    ("placed", 0, "large", "n4"),
    *[("ask", "large", ["n4"])] * 3,
    *[("placed", number, "asks for nothing", "n4") for number in (1, 2, 3)],
    ("ask", "large", ["n4"]),
]


@examples(100)
@given(questions())
@example(OTHER_REASON)
def test_kept_answers_are_those_in_full(later: list[Step]) -> None:
    Questions().run([*EMPTY_NODES, *later])


def test_further_pods_of_a_kind_call_no_plugin() -> None:
    history, calls = Questions().run([*EMPTY_NODES, ("node", "n6", "4", "z1", "hard", set(), False)]), Calls()
    engine = Engine(history.state, history.engine.profiles, calls)
    profile, rows = engine.profile(), Candidates(partial(_rows, names=["n1", "n6", "n0"]))
    counts = []
    for number in range(3):
        pod = make_pod(f"p{number}", metadata={"uid": f"u{number}"}, **TEMPLATES["small"])
        engine.filter(pod, profile, rows)
        engine.score(pod, profile, Candidates(partial(_rows, names=["n1", "n0"])))
        counts.append(calls.count)
    assert counts[0] > 0
    assert counts == counts[:1] * 3
