"""Decisions about many pods in one call: choice for choice, and change for change, those of one call each."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster import table_writer
from mooring.cluster.kinds import Put
from mooring.framework import Int32s
from mooring.framework.errors import MooringError
from mooring.framework.state import RowChange
from mooring.runtime.cache.layers import node_totals
from mooring.runtime.cache.layers.ranking import Ranking
from mooring.runtime.cycle import sampling
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.engine import Engine
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning
from mooring.testing import make_pod
from tests.cluster.histories import classes
from tests.examples import examples
from tests.laboratories.histories.comparing import facts
from tests.runtime.test_cached_equals_full import (
    EMPTY_DOCUMENT,
    EMPTY_NODES,
    TEMPLATES,
    History,
    Step,
    histories,
)

SEED = 5
PLAIN = ("small", "large", "asks for nothing", "of a service", "tolerant", "selecting", "preferring")


class Batch:
    """Pods by template, some of which a source has delivered before, and some of those with a node.

    Each template has a label of its own, so those of one name differ in what nothing reads.
    """

    def __init__(self, templates: Sequence[str], indices: Sequence[int], known: Sequence[int]) -> None:
        self.looks = [
            {**TEMPLATES[name], "labels": {"own": f"{at}", **TEMPLATES[name].get("labels", {})}}
            for at, name in enumerate(templates)
        ]
        self.templates = [make_pod("template", metadata={"uid": "template"}, **look) for look in self.looks]
        self.indices = indices
        self.known = known
        self.names = [f"b{number}" for number in range(len(indices))]

    def deliver(self, history: History) -> None:
        for number in self.known:
            if number < len(self.indices):
                placed = {"node": "n0"} if number % 2 else {}
                pod = make_pod(
                    f"b{number}",
                    metadata={"uid": f"b{number}"},
                    **placed,
                    **self.looks[self.indices[number]],
                )
                history.state.apply("test", [Put(pod)])

    def one_by_one(self, engine: Engine, first: int = 0) -> list[Choice | str]:
        """A call each."""
        return [self._one(engine, number) for number in range(first, len(self.indices))]

    def in_turn(self, engine: Engine) -> tuple[list[Choice | str], int]:
        """As few calls as possible, and how many of the choices came from calls about many."""
        templates = [(pod, engine.profile()) for pod in self.templates]
        found: list[Choice | str] = []
        many = 0
        while (at := len(found)) < len(self.indices):
            rest = self.indices[at:], self.names[at:], self.names[at:]
            choices = engine.place_batch(templates, *rest, seed=SEED)
            many += len(choices)
            found += choices or [self._one(engine, at)]
        return found, many

    def _one(self, engine: Engine, number: int) -> Choice | str:
        pod = make_pod(
            self.names[number],
            metadata={"uid": self.names[number]},
            **self.looks[self.indices[number]],
        )
        try:
            return engine.place(pod, engine.profile(), ALL_NODES, seed=SEED)
        except MooringError as error:
            return error.message


def said(found: Sequence[Choice | str]) -> list[object]:
    return [one if isinstance(one, str) else (facts(one), one.row, one.state_version) for one in found]


def written(history: History, since: int) -> object:
    """Return all that a decision writes, as what forks and readers find."""
    state = history.state
    changes: Sequence[RowChange] = state.changes_since(since) or ()
    nodes, pods = state.snapshot.nodes, state.snapshot.pods
    return (
        state.version,
        history.engine.start,
        [(row, record, amount) for row, record, amount in changes],
        nodes.requested.tolist(),
        nodes.non_zero_requested.tolist(),
        nodes.ports,
        pods.records,
        {row: pods.classes.uids_on(row) for row in pods.classes.places},
        pods.priorities,
        classes(pods),
        {
            key: (one.counts, one.column is not None and one.column.tolist())
            for key, one in pods.affinities.items()
        },
    )


@st.composite
def batches(draw: st.DrawFn, templates: Sequence[str] = tuple(sorted(TEMPLATES))) -> Batch:
    names = draw(st.lists(st.sampled_from(templates), min_size=1, max_size=3))
    names += draw(st.sampled_from(([], names)))
    runs = draw(
        st.lists(st.tuples(st.integers(0, len(names) - 1), st.integers(1, 12)), min_size=1, max_size=4)
    )
    indices = [index for index, count in runs for _ in range(count)]
    return Batch(names, indices, draw(st.lists(st.integers(0, 12), max_size=3, unique=True)))


def both(
    batch: Batch,
    before: Sequence[Step],
    after: Sequence[Step],
    document: dict[str, object] | None = None,
    tuning: CacheTuning = DEFAULT_TUNING,
) -> int:
    """The same history twice, with the batch in the middle; how many were decided in calls about many."""
    histories = [History(document, tuning).run([*EMPTY_NODES, *before]) for _ in range(2)]
    for history in histories:
        batch.deliver(history)
    since = histories[0].state.version
    expected = batch.one_by_one(histories[0].engine)
    found, many = batch.in_turn(histories[1].engine)
    assert said(found) == said(expected)
    assert written(histories[1], since) == written(histories[0], since)
    # Later cached values are right, too; each decision compares itself with one in full.
    for history in histories:
        for name in batch.names[::2]:
            history.state.forget(name)
        history.run(after)
    assert written(histories[1], since) == written(histories[0], since)
    return many


@examples(80)
@given(batches(), histories(), histories())
def test_many_are_decided_as_one_by_one(batch: Batch, before: list[Step], after: list[Step]) -> None:
    both(batch, before[:20], after[:20])


@examples(30)
@given(st.sampled_from((0, 10, 70)), batches(), histories())
def test_searches_that_end_early_go_on_from_pod_to_pod(
    percentage: int, batch: Batch, after: list[Step]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "MIN_FEASIBLE_NODES", 1)
        both(batch, [], after[:10], {**EMPTY_DOCUMENT, "percentageOfNodesToScore": percentage})


@examples(40)
@given(
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=2),
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(1, 12),
    st.lists(st.sampled_from(range(0, 12, 2)), max_size=3, unique=True),
)
def test_plain_pods_take_one_call_until_no_node_takes_one(
    names: list[str], count: int, most: int, summed: int, known: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_writer, "_WORTH_SUMMING_UP", summed)
        indices = [index for index in range(len(names)) for _ in range(count)]
        batch = Batch(names, indices, known)
        # Afterwards little is left to ask plugins about, so that runs are long.
        tried: list[Step] = [step for name in names for step in [("decide", name)] * count]
        before = [*tried, *[("forget",)] * len(tried)]
        tuning = CacheTuning(pods_per_lock=most)
        many = both(batch, before, [("decide", name) for name in names], tuning=tuning)
        history = History().run([*EMPTY_NODES, *before])
        batch.deliver(history)
        engine = history.engine
        placed = [one for one in batch.one_by_one(engine) if isinstance(one, Choice) and one.node_name]
        assert many == len(placed)


@pytest.mark.parametrize(
    ("run", "ranked"), [(1, False), (4, False), (40, True)], ids=["alone", "a few alike", "many alike"]
)
def test_a_few_alike_among_others_are_selected_without_a_ranking(run: int, ranked: bool) -> None:
    built: list[object] = []

    class Counted(Ranking):
        def __init__(self, totals: Int32s) -> None:
            built.append(totals)
            super().__init__(totals)

    indices = [index for _ in range(6) for index in (0, 1) for _ in range(run)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_totals, "Ranking", Counted)
        tuning = CacheTuning(compiled_rows_per_pod=0)
        batch, history = Batch(["small", "large"], indices, []), History(tuning=tuning).run(EMPTY_NODES)
        _, many = batch.in_turn(history.engine)
    assert many
    assert bool(built) is ranked
