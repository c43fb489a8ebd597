"""mooring's preemption for a scenario's pod, in the oracle's form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mooring.framework import Pod
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import PodGroup
from mooring.testing.question import Question
from tests.laboratories.conformance.families.draft import Manifest
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
                "pods": [key for unit in _by_unit(asked, candidate.victims) for key in unit],
                "violations": candidate.violations,
            }
            for candidate in found.candidates
        },
        "best": sorted(found.best),
    }


def _by_unit(asked: Question, victims: Sequence[Pod]) -> list[list[str]]:
    """Return the victims in their order; a group's pods are sorted, since kube-scheduler has no order for
    them.
    """

    def unit(pod: Pod) -> str:
        namespace, name = pod.group or ("", "")
        group = asked.state.snapshot.objects.get(PodGroup, name, namespace)
        return f"{namespace}/{name}" if group is not None and group.goes_together else f"pod {pod.key}"

    return [sorted(pod.key for pod in together) for _, together in groupby(victims, unit)]
