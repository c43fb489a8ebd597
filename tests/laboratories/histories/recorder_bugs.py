"""Bugs of the recorder of rules' reads, each put back by a patch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.framework.row_versions import RowBasis
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.pure import answers, reads, views
from mooring.runtime.pure.answers import Answers
from mooring.runtime.pure.reads import MEASURED
from mooring.runtime.pure.views import AmountsView, MappingView, Seen, StateView

Patch = pytest.MonkeyPatch


def entries_are_not_noted(patch: Patch) -> None:
    """An entry of labels or annotations is read unseen."""
    patch.setattr(MappingView, "_entry", lambda view, key: view._real.get(key))


def tuples_are_noted_by_length(patch: Patch) -> None:
    """Tuples and mappings of one length count as equal."""
    for module in (reads, views):
        patch.setattr(module, "encoded", len)


def versions_are_not_compared(patch: Patch) -> None:
    """An answer about a row stays when the row changes, or has another node."""

    class Known(np.ndarray):
        def __ne__(self, other: object) -> Any:
            return np.asarray(self) == -1

    class Basis(RowBasis):
        def __init__(self, capacity: int, counters: int) -> None:
            super().__init__(capacity, counters)
            self._versions = self._versions.view(Known)

    patch.setattr(answers, "RowBasis", Basis)


def the_first_context_stays(patch: Patch) -> None:
    """Answers are cached by the first call's reads of pod and state."""
    add = Answers._add_to_context

    def first(kept: Answers, seen: Seen) -> None:
        if kept.calls < 2:
            add(kept, seen)

    patch.setattr(Answers, "_add_to_context", first)


def counts_are_not_compared(patch: Patch) -> None:
    """An answer about a row stays when its domain has another count."""
    patch.setattr(
        answers.PodInState, "counted", lambda _, counters: [np.zeros(1 << 10, np.int64) for _ in counters]
    )


def new_reads_change_no_key(patch: Patch) -> None:
    """A kept evaluation goes on after a rule read what it had never read."""
    patch.setattr(Profile, "reads", property(lambda _: 0))


def the_state_is_not_noted(patch: Patch) -> None:
    """Filter and Score read unseen what PreFilter wrote."""
    patch.setattr(StateView, "_noted", lambda _view, _key, value: value)


def offers_are_not_noted(patch: Patch) -> None:
    """Don't note that a resource is in the amounts because another node offers it."""
    entry = AmountsView._entry

    def unseen(view: Any, key: Any) -> int | None:
        value = entry(view, key)
        view._seen.pop((reads.OFFERED, key), None)
        return value

    patch.setattr(AmountsView, "_entry", unseen)


def measured_values_have_no_version(patch: Patch) -> None:
    """A measured value changes with its node alone."""
    patch.setattr(answers, "_OF_ROWS", answers._OF_ROWS | {MEASURED})


def exceptions_are_answers(patch: Patch) -> None:
    """A call that raises counts as one that passes."""
    ask = Answers._asked_about

    def kept(found: Answers, question: Any, row: int) -> int:
        try:
            return ask(found, question, row)
        except ValueError:
            return 0

    patch.setattr(Answers, "_asked_about", kept)
