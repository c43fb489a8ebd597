"""Random histories of sessions, whose last versions go to kube-scheduler's own code, too.

See ``conformance/comparison.py``; ``--count`` is the number of histories. A history opens sessions over a
scenario's cluster and from each other, changes them and the live state, places pods, marks, reverts and
commits. A session's last answer about the scenario's pod (verdict, plugin and reasons of each node, scores,
totals, ties) has to equal the oracle's about the same objects.
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
    """Yield the last versions of ``count`` histories, as scenarios."""
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
    """Return the session's differences, apart from the victims of preemption."""
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
    """Count the answers by kind."""
    feasible = "schedulable" if document["feasible"] else "unschedulable"
    return Counter({feasible: 1, "nodes": len(document["nodes"])})


SESSIONS = Comparison(
    "sessions", "scenario", "document", "document", last_versions, disagreement, counts, asked_again=20
)

if __name__ == "__main__":
    sys.exit(SESSIONS.main())
