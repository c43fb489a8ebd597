"""The histories stay playable, and find what they are for: a short one of each form, and bugs put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mooring.cluster import table_writer
from mooring.framework import SUCCESS, Int32s, Part
from mooring.framework.pod_table import UNPLACED
from mooring.plugins.inter_pod_affinity.scoring import Worth
from mooring.plugins.pod_topology_spread.scoring import SoftCounts
from mooring.runtime.cache.layers.node_totals import NodeTotals
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.fork_reserve import ForkReserve
from mooring.runtime.cycle.plugin_calls import PluginCalls
from tests.laboratories import long_runs
from tests.laboratories.histories import __main__ as command
from tests.laboratories.histories import configurations, ledger
from tests.laboratories.histories.callers import broken_rules, failed_preemptions
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import Form, play, shrunk

Patch = pytest.MonkeyPatch
STEPS = {
    "process": range(20),
    "compiled": range(20),
    "stuck": range(20),
    "reserving": range(5),
    "grpc": range(10),
    "sessions": range(40),
    "threads": range(2),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.id)
def test_a_short_history(form: Form, seed: int) -> None:
    played = play(form, seed, STEPS[form.id])
    assert played.mismatch == "", played.again
    assert min(played.comparisons, played.decisions, played.cached) > 0


def feasible_nodes_are_counted(patch: Patch) -> None:
    """Scores are scaled again only when the number of feasible nodes changes, not when other nodes are
    feasible.
    """
    apply_changes, crossed = NodeTotals.apply_changes, NodeTotals._crossed

    def careless(self: NodeTotals, rows: Int32s, calls: PluginCalls) -> None:
        before = self.feasible
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(NodeTotals, "_crossed", lambda kept: kept.feasible != before and crossed(kept))
            apply_changes(self, rows, calls)

    patch.setattr(NodeTotals, "apply_changes", careless)


def nodes_never_move(patch: Patch) -> None:
    """A cached verdict isn't computed again when a node changes."""
    moved_since = ChangeTracker.moved_since
    patch.setattr(
        ChangeTracker,
        "moved_since",
        lambda self, at: [part for part in moved_since(self, at) if part not in Part.NODES],
    )


def counts_are_shared(patch: Patch) -> None:
    """Cycles that share a pod's evaluation follow one copy of its counts."""
    patch.setattr(SoftCounts, "clone", lambda counts: counts)
    patch.setattr(Worth, "clone", lambda counts: counts)


def nominations_end_unseen(patch: Patch) -> None:
    """A nomination that ends leaves no trace on its node."""
    patch.setattr(table_writer, "_has_room", lambda record: record.row != UNPLACED)


def nothing_is_reserved(patch: Patch) -> None:
    """Devices and volumes that a pod of a dry run takes stay free."""
    patch.setattr(ForkReserve, "keep", lambda *_: SUCCESS)


Bug = Callable[[Patch], None]


@pytest.mark.parametrize(
    ("bug", "form", "seed", "steps"),
    [
        pytest.param(feasible_nodes_are_counted, "process", 23, (15, 16, 17, 19), id="feasible-process"),
        pytest.param(feasible_nodes_are_counted, "grpc", 2, range(11, 35), id="feasible-grpc"),
        pytest.param(nodes_never_move, "process", 2, (0, 2, 3, 5, 12), id="nodes-process"),
        pytest.param(counts_are_shared, "process", 116, range(60), id="counts-process"),
        pytest.param(nominations_end_unseen, "stuck", 1, range(5), id="nominations-stuck"),
        pytest.param(nominations_end_unseen, "stuck", 0, range(14), id="nominations-assumed"),
        pytest.param(nothing_is_reserved, "reserving", 25, range(1), id="reserved-once"),
    ],
)
def test_a_bug_that_is_put_back_is_found(
    bug: Bug, form: str, seed: int, steps: Sequence[int], monkeypatch: Patch
) -> None:
    # A generated rule may keep a profile from the cache that the bug is in.
    monkeypatch.setattr(configurations, "RULES_IN", 0.0)
    assert play(FORMS[form], seed, steps).mismatch == ""
    bug(monkeypatch)
    assert "MismatchError" in play(FORMS[form], seed, steps).mismatch


def test_threads_find_it_too(monkeypatch: Patch) -> None:
    nodes_never_move(monkeypatch)
    played = (play(FORMS["threads"], seed) for seed in range(1, 11))
    assert any("MismatchError" in one.mismatch for one in played)


def test_a_mismatch_is_shrunk_and_can_be_played_again(monkeypatch: Patch) -> None:
    nodes_never_move(monkeypatch)
    played = play(FORMS["process"], 2)
    fewer = shrunk(FORMS["process"], played, patience=60.0)
    assert "MismatchError" in fewer.mismatch
    assert len(fewer.steps) < len(played.steps)
    arguments = fewer.again.removeprefix("python -m tests.laboratories.histories ").split()
    assert command.main(arguments) == 1


@pytest.mark.slow
def test_a_run_goes_on_from_its_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Patch
) -> None:
    monkeypatch.setattr(command, "AT_A_TIME", 1)
    file = tmp_path / "ledger.jsonl"
    before = play(FORMS["process"], 3, range(2))
    long_runs.append(file, before)
    arguments = ["--minutes", "0.001", "--workers", "1", "--form", "process", "--ledger", str(file)]
    assert command.main(arguments) == 0
    played = ledger.read(file)
    assert played[0] == before
    total = ledger.totals(played)["process"]
    assert (total.histories, total.mismatches) == (len(played), 0)
    assert f"{total.comparisons:,}" in capsys.readouterr().out


@pytest.mark.slow
def test_callers_at_the_same_time_break_no_rule_and_none_fails() -> None:
    assert broken_rules(10, 60, 500)[:2] == (0, 0)
    assert failed_preemptions(10, 30, 500)[0] == 0
