"""HelloWorldPluginArgs: where the network's measurements come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import FieldError


@dataclass(frozen=True, slots=True)
class HelloWorldPluginArgs:
    """Arguments of HelloWorldPlugin.

    Attributes:
        xxx: Kept as it is written; text that looks like a number stays text.
        yyy: The same.
        zzz: A number, kept.
        prometheus_address: URL of the Prometheus server that measures the nodes' network.
        network_interface: The interface that is measured.
        time_range_in_minutes: The time over which traffic is averaged.
        bandwidth_file: A YAML or JSON file of node name to bytes, read again as it changes. Without it no
            node has a measurement, and all score alike.
    """

    xxx: str = ""
    yyy: str = ""
    zzz: int = 0
    prometheus_address: str = ""
    network_interface: str = ""
    time_range_in_minutes: int = 5
    bandwidth_file: str = ""

    def validate(self) -> Iterator[FieldError]:
        """The one number that must make sense."""
        if self.time_range_in_minutes < 1:
            yield FieldError("timeRangeInMinutes", f"must be 1 or more, not {self.time_range_in_minutes}")
