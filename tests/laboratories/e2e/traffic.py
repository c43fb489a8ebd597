"""Nodes whose traffic a real Prometheus measures, and what NetworkTraffic made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.process import wait_until

from .prometheus import Exporter, Prometheus


def measure(
    running: ExitStack, directory: Path, addresses: Mapping[str, str]
) -> tuple[dict[str, Exporter], Prometheus]:
    """By node an exporter at its address, and a Prometheus that scrapes them."""
    exporters = {name: Exporter(host, 1000.0) for name, host in addresses.items()}
    for exporter in exporters.values():
        running.callback(exporter.stop)
    targets = [exporter.target for exporter in exporters.values()]
    return exporters, running.enter_context(Prometheus(directory, targets))


class Traffic:
    """The exporters' values, and mooring's refreshes.

    Attributes:
        prometheus: Who asks the exporters.
        exporters: By node.
    """

    def __init__(
        self, prometheus: Prometheus, exporters: dict[str, Exporter], metrics: Callable[[], str]
    ) -> None:
        self.prometheus = prometheus
        self.exporters = exporters
        self._metrics = metrics

    def events(self, event: str) -> int:
        """Return the plugin's count of an event, from mooring's metrics."""
        pattern = rf'^mooring_plugin_events_total{{event="{event}",plugin="NetworkTraffic"}} (\S+)$'
        found = re.search(pattern, self._metrics(), re.MULTILINE)
        return int(float(found[1])) if found else 0

    def wait_events(self, event: str, more: int) -> None:
        enough = self.events(event) + more
        wait_until(lambda: self.events(event) >= enough, f"{more} more of {event}")

    def one_scrape_and_refresh(self) -> None:
        """Wait until all exporters were scraped once and mooring read the results once after that.

        The scrape, and the question, that were under way when this begins don't count; that a further scrape
        began means that Prometheus has the one before.
        """
        enough = {name: exporter.scrapes + 2 for name, exporter in self.exporters.items()}
        for name, exporter in self.exporters.items():
            wait_until(partial(exporter.scraped, enough[name]), f"scrapes of {name}")
        self.wait_events("refreshed", 2)
