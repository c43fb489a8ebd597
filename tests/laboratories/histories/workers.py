"""The work of separate processes."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tests.laboratories.histories import cluster, configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import Played, play, shrunk


def begin(rules: bool) -> None:
    """Hide the log lines of libraries: they belong to one of many histories, and show when that is played
    again. With ``rules`` as ``with_rules``.
    """
    logging.disable(logging.CRITICAL)
    if rules:
        with_rules()


def with_rules() -> None:
    """Give each history generated rules, and half of them many nodes: one evaluation answers about all."""
    configurations.RULES_IN = 1.0
    cluster.SIZE_ODDS = (20, 30, 50)


def play_some(form: str, seeds: Sequence[int]) -> list[Played]:
    """Histories of a form; of those with a mismatch only the steps that matter stay."""
    found = [play(FORMS[form], seed) for seed in seeds]
    return [shrunk(FORMS[form], played) if played.mismatch else played for played in found]
