"""HelloWorldPluginArgs: those of NetworkTraffic and three of the published example."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.plugins.network_traffic.args import NetworkTrafficArgs


@dataclass(frozen=True, slots=True)
class HelloWorldPluginArgs(NetworkTrafficArgs):
    """Arguments of HelloWorldPlugin: those of NetworkTraffic, and three that are kept as they are written.

    Attributes:
        xxx: Text.
        yyy: Text, also when it looks like a number.
        zzz: A number.
    """

    xxx: str = ""
    yyy: str = ""
    zzz: int = 0
