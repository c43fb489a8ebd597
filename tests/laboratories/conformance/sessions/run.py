"""Random histories of sessions, whose last versions kube-scheduler's own code is asked about, too.

See ``conformance/comparison.py``; ``--count`` is of histories. A history opens sessions over a scenario's
cluster and from each other, changes them and the live state, places pods, marks, reverts and commits. What a
session says of the scenario's pod in the end (verdict, plugin and reasons of each node, scores, totals, ties)
has to be what the oracle says of the objects that are there.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count as count_up
from random import Random

from mooring.config import ConfigError
from mooring.framework.errors import MooringError
from tests.laboratories.conformance import generator
from tests.laboratories.conformance.compare import differences
from tests.laboratories.conformance.comparison import Comparison
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.sessions.history import History, NotPlayableError

RAISED = "raised"
"""The last part of the id of a history that ended in an exception."""

OFTENER_ASKED = "InterPodAffinityHostnameFastPath"
"""As in ``tests.laboratories.conformance.run``."""


def last_versions(seed: int, count: int, version: str) -> Iterator[Manifest]:
    """Yield the last versions of so many histories, as scenarios."""
    played = 0
    for index in count_up():
        if played == count:
            return
        try:
            history = _history(seed, index, version)
        except (ConfigError, MooringError, NotPlayableError):
            continue
        played += 1
        try:
            yield from (asked for asked, _ in history.play())
        except Exception:  # noqa: BLE001 - whatever it raises is a finding, see ``disagreement``
            yield {**generator.scenario(seed, index, version=version), "id": f"{seed}/{index}/{RAISED}"}


def _history(seed: int, index: int, version: str) -> History:
    scenario = generator.scenario(seed, index, version=version)
    return History(scenario, f"{seed}/{index}", Random(f"sessions/{seed}/{index}"), version)


def disagreement(asked: Manifest, theirs: Manifest, version: str) -> list[str]:
    """What the session says otherwise; whom preemption would make go is not asked."""
    seed, index, which = asked["id"].split("/")
    try:
        versions = list(_history(int(seed), int(index), version).play())
    except Exception as error:  # noqa: BLE001 - as above
        return [f"{RAISED} {type(error).__name__}: {error}"]
    again, ours = versions[int(which)]
    if again["objects"] != asked["objects"]:
        return ["was recorded by another generator"]
    theirs = {**theirs}
    for document in (ours, theirs):
        document.pop("preemption", None)
        if (asked.get("feature_gates") or {}).get(OFTENER_ASKED):
            document["prefilter"] = {**document["prefilter"]}
            document["prefilter"].pop("InterPodAffinity", None)
    return differences(ours, theirs)


def counts(document: Manifest) -> Counter[str]:
    """What the answers are about."""
    feasible = "schedulable" if document["feasible"] else "unschedulable"
    return Counter({feasible: 1, "nodes": len(document["nodes"])})


SESSIONS = Comparison(
    "sessions", "scenario", "document", "document", last_versions, disagreement, counts, asked_again=20
)

if __name__ == "__main__":
    sys.exit(SESSIONS.main())
