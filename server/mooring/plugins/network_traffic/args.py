"""NetworkTrafficArgs: where the network's measurements come from, and how long they count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from mooring.framework import FieldError

_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class NetworkTrafficArgs:
    """Arguments of NetworkTraffic.

    Attributes:
        prometheus_address: URL of the Prometheus server that measures the nodes' network.
        network_interface: The interface that is measured; "" = all but the loopback, added up.
        time_range_in_minutes: The time over which traffic is averaged.
        transmit: Count what nodes send, too, not only what they receive.
        node_label: The label of the series that tells the node: its value is the node's name or one of its
            addresses, with or without a port.
        refresh_period: Time between two queries.
        max_age: Older measurements are not used.
        fail_without_metrics: Fail a decision for which there are no measurements young enough, instead of
            treating all nodes alike.
        bandwidth_file: In place of Prometheus: a YAML or JSON file of node name to bytes per second.
    """

    prometheus_address: str = ""
    network_interface: str = ""
    time_range_in_minutes: int = 5
    transmit: bool = False
    node_label: str = "instance"
    refresh_period: timedelta = timedelta(seconds=15)
    max_age: timedelta = timedelta(minutes=5)
    fail_without_metrics: bool = False
    bandwidth_file: str = ""

    def validate(self) -> Iterator[FieldError]:
        """What no type can say."""
        if self.time_range_in_minutes < 1:
            yield FieldError("timeRangeInMinutes", f"must be 1 or more, not {self.time_range_in_minutes}")
        if self.prometheus_address and not _is_url(self.prometheus_address):
            message = "must be a URL such as http://prometheus.monitoring:9090"
            yield FieldError("prometheusAddress", f"{message}, not {self.prometheus_address!r}")
        if self.prometheus_address and self.bandwidth_file:
            yield FieldError("bandwidthFile", "is given together with prometheusAddress; choose one")
        if not _LABEL_NAME.fullmatch(self.node_label):
            yield FieldError("nodeLabel", f"must be a label name of Prometheus, not {self.node_label!r}")
        if self.refresh_period <= timedelta(0):
            yield FieldError("refreshPeriod", "must be greater than 0")
        if self.max_age < self.refresh_period:
            yield FieldError("maxAge", "must not be shorter than refreshPeriod")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
