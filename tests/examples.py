"""How many examples a property tries: all of them in a full run, a third in ``make test``."""

from __future__ import annotations

from hypothesis import settings

_FULL = 100
"""What a property without settings tries in a full run."""


def register_profile() -> None:
    """Make the profile ``dev``: the first third of the examples that hypothesis' own profile ``ci`` tries."""
    settings.register_profile("dev", settings.get_profile("ci"), max_examples=_FULL // 3)


def examples(count: int) -> settings:
    """Return settings: ``count`` examples in a full run, otherwise the profile's share of them."""
    tried = settings().max_examples
    return settings(max_examples=-(-count * tried // _FULL))
