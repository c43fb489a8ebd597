"""Who wants to hear of the state's changes."""

from __future__ import annotations

from mooring.cluster.kinds import ClusterObject
from mooring.framework.cluster_events import Listener, ObjectChange


class Listeners:
    """Listeners in the order in which they came. The caller holds the state's lock."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> None:
        """Tells ``listener`` too from now on."""
        self._listeners.append(listener)

    def tell(self, kind: str, old: ClusterObject | None, new: ClusterObject | None) -> None:
        """Tells everyone of one change."""
        if self:
            change = ObjectChange(kind, old, new)
            for listener in self._listeners:
                listener(change)
