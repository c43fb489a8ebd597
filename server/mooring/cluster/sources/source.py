"""The interface of every source."""

from __future__ import annotations

from typing import Protocol

from mooring.framework.sources import SourceStatus


class Source(Protocol):
    """Delivers objects to the state it was made with. All methods are safe from any thread."""

    def start(self) -> None:
        """Load, and follow from then on. Raises InvalidArgumentError if the first load failed; nothing
        follows then.
        """
        ...

    def stop(self) -> None:
        """Stop following; what was delivered stays."""
        ...

    @property
    def synced(self) -> bool:
        """The first full load is complete."""
        ...

    @property
    def staleness(self) -> float:
        """Seconds since the state was last known to be what the cluster has.

        0 for a source from which nothing more is expected: files, and pushes whose callers don't say it.
        """
        ...

    @property
    def late(self) -> str:
        """The cause of the state's age, in words that go before a duration."""
        ...

    @property
    def doubt(self) -> str:
        """Why nothing may be decided by the state, however young it is; "" = it may."""
        ...

    def describe(self) -> list[SourceStatus]:
        """Return how it is doing; a push source has one entry for each of its callers' sources."""
        ...
