"""Verdicts of kube-scheduler's plugins on changes, 20 a question; see ``conformance/comparison.py``."""

from __future__ import annotations

import sys
from collections import Counter

from tests.laboratories.conformance.comparison import Comparison
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.hints.generator import questions
from tests.laboratories.conformance.hints.replay import differences


def counts(answer: Manifest) -> Counter[str]:
    """Count the changes that the oracle accepts, and the plugins' hints about them."""
    taken = [said for said in answer["changes"] if "error" not in said]
    hints = Counter(hint for said in answer["changes"] for hint in (said["hints"] or {}).values())
    return hints + Counter(changes=len(taken))


HINTS = Comparison("hints", "question", "answer", "hints", questions, differences, counts)

if __name__ == "__main__":
    sys.exit(HINTS.main())
