"""What mooring would do to make room for a scenario's pod, in the oracle's form."""

from __future__ import annotations

from mooring.framework.errors import NotFoundError
from mooring.testing.question import Question
from tests.conformance.families.draft import Manifest
from tests.plugins.preempting import preemption_for


def preempted(asked: Question) -> Manifest | None:
    """For a pod that no node takes: every candidate with its victims, and the best ones.

    None when there is none, or when the profile has no plugin that makes room.
    """
    try:
        found = preemption_for(asked)
    except NotFoundError:
        return None
    if not found.candidates:
        return None
    return {
        "candidates": {
            candidate.node_name: {
                "pods": [victim.key for victim in candidate.victims],
                "violations": candidate.violations,
            }
            for candidate in found.candidates
        },
        "best": sorted(found.best),
    }
