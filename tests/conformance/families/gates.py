"""Feature gates set otherwise than a release has them."""

from __future__ import annotations

from tests.conformance.families.draft import Draft

Gates = dict[str, bool]
SWITCHES: list[tuple[str, str, Gates]] = [
    ("1.33", "1.33", {"PodLevelResources": True}),
    ("1.33", "1.33", {"VolumeAttributesClass": True}),
    ("1.33", "1.34", {"InPlacePodVerticalScaling": False}),
    ("1.33", "1.33", {"MatchLabelKeysInPodTopologySpread": False}),
    (
        "1.34",
        "1.36",
        {
            "MatchLabelKeysInPodTopologySpread": False,
            "MatchLabelKeysInPodTopologySpreadSelectorMerge": False,
        },
    ),
    ("1.33", "1.36", {"SchedulerAsyncPreemption": False}),
    ("1.34", "1.35", {"PodLevelResources": False}),
    ("1.34", "1.35", {"VolumeAttributesClass": False}),
    ("1.35", "1.35", {"InPlacePodLevelResourcesVerticalScaling": True, "NodeDeclaredFeatures": True}),
    ("1.35", "1.35", {"NodeDeclaredFeatures": True}),
    ("1.35", "1.36", {"TaintTolerationComparisonOperators": True}),
    ("1.36", "1.36", {"InPlacePodLevelResourcesVerticalScaling": False}),
    ("1.36", "1.36", {"InPlacePodLevelResourcesVerticalScaling": False, "PodLevelResources": False}),
    (
        "1.36",
        "1.36",
        {
            "ExtendWebSocketsToKubelet": False,
            "InPlacePodLevelResourcesVerticalScaling": False,
            "InPlacePodVerticalScalingInitContainers": False,
            "NodeDeclaredFeatures": False,
            "RestartAllContainersOnContainerExits": False,
        },
    ),
]
"""The first and the last release that can be run so, with what depends on a gate switched as well."""


def switch(draft: Draft) -> None:
    choices = [gates for first, last, gates in SWITCHES if first <= draft.version <= last]
    draft.gates = draft.gates | draft.rng.choice(choices)
