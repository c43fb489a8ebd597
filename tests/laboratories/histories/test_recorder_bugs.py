"""Histories with generated rules find bugs of the recorder of their reads and of the cache of
their answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mooring.runtime.pure import answers
from tests.laboratories.histories import configurations, recorder_bugs
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.laboratories.histories.test_histories import Bug, Patch
from tests.runtime.pure import test_followed_plugin


@pytest.mark.parametrize(
    ("bug", "form", "seed", "steps"),
    [
        pytest.param(recorder_bugs.entries_are_not_noted, "process", 10, (0,), id="entries"),
        pytest.param(recorder_bugs.tuples_are_noted_by_length, "process", 6, (3, 4), id="tuples"),
        pytest.param(recorder_bugs.counts_are_not_compared, "process", 36, (3, 5), id="counts"),
        pytest.param(recorder_bugs.new_reads_change_no_key, "process", 5, (1,), id="new-reads"),
        pytest.param(recorder_bugs.the_state_is_not_noted, "process", 0, (5, 7), id="state"),
        pytest.param(
            recorder_bugs.measured_values_have_no_version, "process", 13, (1, 2, 4, 6), id="measured"
        ),
        pytest.param(recorder_bugs.versions_are_not_compared, "process", 9, (0, 1, 3), id="versions"),
        pytest.param(recorder_bugs.the_first_context_stays, "process", 15, (9,), id="context"),
        pytest.param(recorder_bugs.offers_are_not_noted, "process", 779, (0, 3), id="offers"),
    ],
)
def test_a_bug_of_the_recorder_is_found(
    bug: Bug, form: str, seed: int, steps: Sequence[int], monkeypatch: Patch
) -> None:
    monkeypatch.setattr(configurations, "RULES_IN", 1.0)
    monkeypatch.setattr(configurations, "FAULTY_IN", 0.0)
    # Calls that compare would find it first, and stop following the rule.
    monkeypatch.setattr(answers, "CHECKED_FIRST", 0)
    monkeypatch.setattr(answers, "CHECK_EVERY", 1 << 62)
    assert play(FORMS[form], seed, steps).mismatch == ""
    bug(monkeypatch)
    assert "MismatchError" in play(FORMS[form], seed, steps).mismatch


def test_exceptions_that_are_kept_are_found(monkeypatch: Patch) -> None:
    test_followed_plugin.test_a_rule_that_raises_fails_the_decision_until_the_node_is_mended()
    recorder_bugs.exceptions_are_answers(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_followed_plugin.test_a_rule_that_raises_fails_the_decision_until_the_node_is_mended()
