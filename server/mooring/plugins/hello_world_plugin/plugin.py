"""NetworkTraffic under the name of the published example."""

from __future__ import annotations

from mooring.plugins.hello_world_plugin.args import HelloWorldPluginArgs
from mooring.plugins.network_traffic.plugin import BandwidthScore


class HelloWorldPlugin(BandwidthScore[HelloWorldPluginArgs]):
    """Prefers nodes whose network is quiet."""

    name = "HelloWorldPlugin"
    Args = HelloWorldPluginArgs
