"""The work of separate processes."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import Played, play, shrunk


def begin(rules: bool) -> None:
    """Hide the log lines of libraries: they belong to one of many histories, and show when that is played
    again. With ``rules`` each history has generated rules.
    """
    logging.disable(logging.CRITICAL)
    if rules:
        configurations.RULES_IN = 1.0


def play_some(form: str, seeds: Sequence[int]) -> list[Played]:
    """Histories of a form; of those with a mismatch only the steps that matter stay."""
    found = [play(FORMS[form], seed) for seed in seeds]
    return [shrunk(FORMS[form], played) if played.mismatch else played for played in found]
