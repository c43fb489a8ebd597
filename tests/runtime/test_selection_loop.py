"""Pods that are alike and get nodes one after the other: a compiled loop gives the results of Python."""

from __future__ import annotations

from contextlib import ExitStack

from mooring.runtime.engine import Engine
from mooring.runtime.tuning import CacheTuning
from mooring.testing import make_node, make_pod
from tests.compiled_loops import compiled_loops
from tests.runtime.test_group_cycle import engine_of

BATCHES, PODS = 4, 30


def uneven_engine(tuning: CacheTuning) -> Engine:
    """Return nodes of several sizes, which the batches fill."""
    return engine_of(
        *(
            make_node(
                f"n{at}", allocatable={"cpu": str(1 + at % 3), "memory": f"{2 + at % 5}Gi", "pods": "9"}
            )
            for at in range(23)
        ),
        tuning=tuning,
    )


def placed(*, compiled: bool, most_rows: int = 1 << 8) -> list[object]:
    """Return the answers about pods of two kinds, alternately and in batches, some of which find no node."""
    with ExitStack() as stack:
        if compiled:
            stack.enter_context(compiled_loops())
        engine, said = uneven_engine(CacheTuning(compiled_rows_per_pod=most_rows)), list[object]()
        kinds = [make_pod("p", requests={"cpu": cpu, "memory": "100Mi"}) for cpu in ("100m", "250m")]
        templates = [(pod, engine.profile("default-scheduler")) for pod in kinds]
        for batch in range(BATCHES):
            uids = [f"{batch}-{number}" for number in range(PODS)]
            at = 0
            while at < PODS:
                rest = [batch % 2] * (PODS - at), uids[at:], uids[at:]
                found = engine.place_batch(templates, *rest, seed=batch)
                columns = found.rows, found.totals, found.tie_counts, found.feasible, found.versions
                said += list(zip(*columns, strict=True))
                at += len(found) or PODS
        return [*said, engine.state.snapshot.nodes.requested.tolist()]


def test_a_compiled_loop_selects_what_a_ranking_does() -> None:
    assert placed(compiled=True) == placed(compiled=False)


def test_small_batches_in_between_make_no_difference() -> None:
    assert placed(compiled=True, most_rows=1) == placed(compiled=False)
