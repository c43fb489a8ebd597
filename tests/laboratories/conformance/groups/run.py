"""Pod groups that a whole kube-scheduler decides; see ``tests.laboratories.conformance.comparison``."""

from __future__ import annotations

import sys
from collections import Counter

from tests.laboratories.conformance.comparison import Comparison
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.groups.generator import scenarios
from tests.laboratories.conformance.groups.replay import differences
from tests.laboratories.conformance.program import NEWEST


def counts(rounds: list[Manifest]) -> Counter[str]:
    """Count the outcomes of the groups, and the attempts for them."""
    found: Counter[str] = Counter()
    for each in rounds:
        found["groups"] += bool(each["group"])
        found["placements"] += sum(len(one["tried"]) for one in each["attempts"])
        found["scored"] += any(one["scores"] for one in each["attempts"])
        found["bound"] += any(pod["host"] for pod in each["pods"])
        found["room"] += each["room"] is not None and each["room"]["code"] == "Success"
        found["victims"] += len(each["victims"])
    return found


GROUPS = Comparison(
    "groups",
    "scenario",
    "decided",
    "groups",
    scenarios,
    differences,
    counts,
    versions=(NEWEST,),
    asked_again=30,
)

if __name__ == "__main__":
    sys.exit(GROUPS.main())
