"""Pods that a whole kube-scheduler decides one after the other; see ``conformance/comparison.py``."""

from __future__ import annotations

import sys
from collections import Counter

from tests.laboratories.conformance.comparison import Comparison
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.sequences.generator import sequences
from tests.laboratories.conformance.sequences.replay import differences


def counts(decisions: list[Manifest | None]) -> Counter[str]:
    """Return the steps that are a decision and no change."""
    return Counter(decisions=sum(decided is not None for decided in decisions))


SEQUENCES = Comparison("sequences", "sequence", "decisions", "decisions", sequences, differences, counts)

if __name__ == "__main__":
    sys.exit(SEQUENCES.main())
