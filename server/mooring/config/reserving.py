"""Plugins that reserve, behind kube-scheduler: they need the extender's bind verb.

kube-scheduler tells an extender of no reservation. Between filter and its own binding two pods may be
promised the same thing; only when mooring binds, the filters run again under the reservation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mooring.config.expand import EnabledPlugin
from mooring.config.fields import join
from mooring.config.in_tree import IN_TREE_POINTS
from mooring.config.types import Extender
from mooring.framework import FieldError


def check_reserving(
    points: Sequence[Mapping[str, Sequence[EnabledPlugin]]], extenders: Sequence[Extender]
) -> Iterator[FieldError]:
    """A fault for each profile that reserves what no extender will bind.

    Args:
        points: Of each profile, the plugins by point. kube-scheduler reserves for its own plugins itself.
        extenders: kube-scheduler's stanzas; none = nobody asks as an extender.
    """
    if not extenders or any(extender.bind_verb for extender in extenders):
        return
    for index, plugins in enumerate(points):
        ours = [plugin.name for plugin in plugins["reserve"] if plugin.name not in IN_TREE_POINTS]
        if ours:
            yield FieldError(
                join("profiles", index, "plugins", "reserve"),
                f"{', '.join(ours)} reserves, so one of the extenders needs bindVerb: "
                "without it kube-scheduler binds by itself, and two pods can get the same thing",
            )
