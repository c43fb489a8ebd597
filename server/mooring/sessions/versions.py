"""Versions of the cluster: the live one at some moment, and what was changed since, step by step.

A version never changes. It is its parent and the changes since, so that any number of sessions share what
they have in common, and going back is to take an earlier one. A session may decide by a policy of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mooring.config import Configuration

CHANGE_BYTES = 600
"""The bytes of one change: its entry, and a record of a pod."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Version:
    """One version.

    Attributes:
        position: The position of its first ancestor in the live state's journal.
        live_version: The version of the live state there.
        parent: The version that it was made of; None = the live state.
        changes: The changes since, as the work tree noted them.
        depth: How many ancestors it has.
        change_count: How many changes there are since the live state.
    """

    position: int
    live_version: int
    parent: Version | None = None
    changes: Sequence[Any] = ()
    depth: int = field(init=False)
    change_count: int = field(init=False)

    def __post_init__(self) -> None:
        parent = self.parent
        object.__setattr__(self, "depth", parent.depth + 1 if parent is not None else 0)
        count = parent.change_count if parent is not None else 0
        object.__setattr__(self, "change_count", count + len(self.changes))

    def with_changes(self, changes: Sequence[Any]) -> Version:
        """Return the version after ``changes``; this one without any."""
        return Version(self.position, self.live_version, self, changes) if changes else self


@dataclass(frozen=True, slots=True)
class Way:
    """How to come from one version to another.

    Attributes:
        undone: The versions whose changes are taken back, in this order.
        follows: Whether the live state is another one.
        redone: The versions whose changes are made then, in this order.
    """

    undone: Sequence[Version]
    follows: bool
    redone: Sequence[Version]

    @property
    def length(self) -> int:
        """How many changes lie on it, those of the live state aside."""
        return sum(len(version.changes) for version in (*self.undone, *self.redone))


def way_between(here: Version, there: Version) -> Way:
    """Return the shortest way: back to the common ancestor, and forward from there."""
    one, other = [*_ancestry(here)], [*_ancestry(there)]
    common = {id(version) for version in one} & {id(version) for version in other}
    return Way(
        [version for version in one if id(version) not in common and version.parent is not None],
        here.position != there.position,
        [version for version in reversed(other) if id(version) not in common and version.parent is not None],
    )


def _ancestry(version: Version | None) -> Iterator[Version]:
    while version is not None:
        yield version
        version = version.parent


PROFILE_BYTES = 8 << 10
"""The approximate bytes of a policy's profile besides its text."""

CHARACTER_BYTES = 4
"""The approximate bytes for a character of a configuration, parsed objects included."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Policy:
    """A release, its feature gates and a configuration. Two are never equal.

    Attributes:
        feature_gates: Gates that differ from the release's defaults.
        source: The configuration's text; "" = the server's.
        configuration: Its result with the release and the gates.
        warnings: Warnings for the session's owner.
    """

    kube_version: str
    feature_gates: Mapping[str, bool]
    source: str
    configuration: Configuration
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes that it takes, about, without engines."""
        names = sum(map(len, self.feature_gates))
        return PROFILE_BYTES * len(self.configuration.profiles) + CHARACTER_BYTES * (len(self.source) + names)
