"""The time of decisions by plugin, and a warning if one author's plugin takes most of it."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from dataclasses import dataclass, field

from mooring.runtime.cycle.plugin_calls import Seconds
from mooring.runtime.profiles.profile import Profile

log = logging.getLogger("mooring.plugins")

WINDOW = 100
"""The number of measured decisions after which shares are judged and counting begins again."""

SHARE = 0.5
"""A plugin with a larger share of the time is named."""

WORTH_SECONDS = 0.001
"""A plugin that takes less of a decision is not named."""


@dataclass(slots=True)
class _Window:
    decisions: int = 0
    seconds: float = 0.0
    by_plugin: Seconds = field(default_factory=lambda: defaultdict(float))


class TimeShares:
    """Adds up the measured decisions of each profile, and warns of each plugin once. Safe from any thread."""

    def __init__(self) -> None:
        self._windows: dict[str, _Window] = {}
        self._told: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def add(self, profile: Profile, by_plugin: Seconds | None, seconds: float, count: int = 1) -> None:
        """Add decisions about ``count`` pods of ``profile``, which took ``seconds`` together. ``by_plugin``
        are the seconds of each plugin; None = the decisions were not measured.
        """
        if by_plugin is None:
            return
        with self._lock:
            window = self._windows.setdefault(profile.name, _Window())
            window.decisions += count
            window.seconds += seconds
            for plugin, spent in by_plugin.items():
                window.by_plugin[plugin] += spent
            if window.decisions < WINDOW:
                return
            del self._windows[profile.name]
            plugin, spent = max(window.by_plugin.items(), key=lambda item: item[1], default=("", 0.0))
            dear = spent > SHARE * window.seconds and spent > WORTH_SECONDS * window.decisions
            if not dear or not profile.is_authors(plugin) or (profile.name, plugin) in self._told:
                return
            self._told.add((profile.name, plugin))
        log.warning(
            "plugin %s takes %.0f %% of the time of profile %s's decisions, %.1f ms of each. Let it inherit "
            "from Pure, so that its answers are kept, and count pods with pods_by. Or let it declare its "
            "dependencies with CacheablePlugin. `mooring plugins bench` shows where the time goes",
            plugin,
            100 * spent / window.seconds,
            profile.name,
            1000 * spent / window.decisions,
        )
