"""The settings by which a session decides, if they differ from the server's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.config import Configuration

PROFILE_BYTES = 8 << 10
"""The approximate bytes of a policy's profile besides its text."""

CHARACTER_BYTES = 4
"""The approximate bytes for a character of a configuration, parsed objects included."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Policy:
    """A release, its feature gates and a configuration. Two are never equal.

    Attributes:
        kube_version: The Kubernetes release whose behaviour is followed.
        feature_gates: Gates that differ from the release's defaults.
        source: The configuration's text; "" = the server's.
        configuration: What it comes to with the release and the gates.
        warnings: What the session's owner should know.
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
