"""Verdicts of kube-scheduler's own plugins on changes, recorded by the oracle, compared with mooring's."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.laboratories.conformance import releases
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.hints.generator import SUBJECTS
from tests.laboratories.conformance.hints.replay import differences
from tests.laboratories.conformance.program import NEWEST, VERSIONS
from tests.laboratories.conformance.recordings import read, recording

SAME_FOR_ALL = """
DefaultPreemption Pod Delete
DynamicResources DeviceClass Add
DynamicResources DeviceClass Update
DynamicResources Node Add
DynamicResources Node UpdateNodeAllocatable
DynamicResources Node UpdateNodeLabel
DynamicResources ResourceSlice Add
DynamicResources ResourceSlice Update
NodeDeclaredFeatures Node Add
NodeDeclaredFeatures Node UpdateNodeDeclaredFeature
NodeName Node Add
NodePorts Node Add
NodeResourcesFit Pod Delete
NodeVolumeLimits CSINode Add
SchedulingGates Pod UpdatePodSchedulingGatesEliminated
TaintToleration Pod UpdatePodToleration
VolumeBinding CSINode Add
VolumeBinding CSIStorageCapacity Add
VolumeBinding Node Add
VolumeBinding Node UpdateNodeLabel
VolumeBinding PersistentVolume Add
VolumeBinding PersistentVolume Update
VolumeBinding StorageClass Add
VolumeRestrictions Node Add
VolumeZone Node Add
VolumeZone Node UpdateNodeLabel
VolumeZone PersistentVolume Add
"""
"""Events about which a plugin gives every pod the same answer."""


@cache
def vectors(version: str) -> tuple[Manifest, ...]:
    return tuple(read(recording("hints", version)))


def wrong(version: str, subject: str = "") -> dict[str, list[str]]:
    found = {
        vector["question"]["id"]: list(differences(vector["question"], vector["answer"], version))
        for vector in vectors(version)
        if vector["question"]["id"].startswith(subject)
    }
    return {identity: lines for identity, lines in found.items() if lines}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_recorded_changes(subject: str) -> None:
    assert not wrong(NEWEST, f"{subject}/")


@pytest.mark.parametrize("version", releases.each(VERSIONS[:-1]))
def test_recorded_changes_of_older_releases(version: str) -> None:
    assert not wrong(version)


def test_every_hint_helps_some_pods_and_not_others() -> None:
    said: dict[str, set[str]] = {}
    changes = [change for vector in vectors(NEWEST) for change in vector["answer"]["changes"]]
    assert len(changes) >= 3000
    for change in changes:
        for key, hint in (change["hints"] or {}).items():
            said.setdefault(re.sub("(Unschedulable|Assigned|Target)Pod", "Pod", key), set()).add(hint)
    # Any update of a pod may change which features it needs, most of those that have a name don't.
    named = {key for key in said if key.startswith("NodeDeclaredFeatures Pod Update") and len(said[key]) < 2}
    assert {key for key, hints in said.items() if len(hints) < 2} - named == set(
        SAME_FOR_ALL.strip().splitlines()
    )
    assert "QueueSkip" in said["NodeDeclaredFeatures Pod Update"]
