"""Feature gates set otherwise than a release has them."""

from __future__ import annotations

from tests.conformance.families.draft import Draft

SWITCHES: dict[str, tuple[str, str | None]] = {
    "InPlacePodLevelResourcesVerticalScaling": ("1.35", None),
    "InPlacePodVerticalScaling": ("1.33", "1.34"),
    "MatchLabelKeysInPodTopologySpread": ("1.33", None),
    "NodeDeclaredFeatures": ("1.35", None),
    "PodLevelResources": ("1.33", None),
    "SchedulerAsyncPreemption": ("1.33", None),
    "TaintTolerationComparisonOperators": ("1.35", None),
    "VolumeAttributesClass": ("1.33", "1.35"),
}
"""The first and the last release in which a gate can be set."""


def switch(draft: Draft) -> None:
    """Set one or two, most of them to what they are not."""
    names = [
        name
        for name, (first, last) in SWITCHES.items()
        if first <= draft.version <= (last or draft.version) and name not in draft.gates
    ]
    draft.gates = draft.gates | {name: draft.chance(0.3) for name in draft.some(names, 1, 2)}
