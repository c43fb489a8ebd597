"""NetworkTrafficArgs: where the network's measurements come from, and how long they count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mooring.framework import FieldError, MeasurementSource
from mooring.measurements import HttpAccess, MeasurementFile, PrometheusQuery
from mooring.measurements.http import is_url

_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

MAX_TIMEOUT = timedelta(seconds=10)
"""The longest that a query may take; it is never more than the refresh period."""


@dataclass(frozen=True, slots=True)
class NetworkTrafficArgs:
    """Arguments of NetworkTraffic.

    Attributes:
        prometheus_address: URL of the Prometheus server that measures the nodes' network.
        network_interface: The interface that is measured; "" = all but the loopback, added up.
        time_range_in_minutes: The time over which traffic is averaged.
        transmit: Count sent traffic, too, not only received traffic.
        node_label: The label of the series that names the node: its value is the node's name or one of its
            addresses, with or without a port.
        refresh_period: Time between two queries.
        max_age: Older measurements are not used.
        fail_without_metrics: Fail a decision for which there are no recent measurements, instead of
            treating all nodes alike.
        bandwidth_file: Instead of Prometheus: a YAML or JSON file of node name to bytes per second.
        query: Your own PromQL with one series per node that has ``node_label``, instead of
            ``network_interface`` and ``transmit``; ``time_range_in_minutes`` is the time it averages over.
        bearer_token_file: A file with the token that Prometheus wants; read again at each query.
        username: For basic authentication.
        password_file: A file with its password; read again at each query.
        ca_file: The authorities, PEM, of Prometheus' certificate; "" = the system's.
        headers: Further headers of each query; credentials belong in files.
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
    query: str = ""
    bearer_token_file: str = ""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def validate(self) -> Iterator[FieldError]:
        """Yield the errors that types can't express."""
        if self.time_range_in_minutes < 1:
            yield FieldError("timeRangeInMinutes", f"must be 1 or more, not {self.time_range_in_minutes}")
        if self.prometheus_address and not is_url(self.prometheus_address):
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
        yield from self._validate_query()
        yield from self._access().faults()

    def source(self) -> MeasurementSource | None:
        """Return the source of the values; None if the arguments name none."""
        if not (self.prometheus_address or self.bandwidth_file):
            return None
        given = self.query or self._query() if self.prometheus_address else self.bandwidth_file
        common: dict[str, Any] = {
            "name": f"node bandwidth: {given}",
            "interval": self.refresh_period,
            "timeout": min(self.refresh_period, MAX_TIMEOUT),
            "max_age": self.max_age,
            "window": timedelta(minutes=self.time_range_in_minutes),
            "unmeasured_as_highest": True,
        }
        if self.bandwidth_file:
            return MeasurementFile(path=self.bandwidth_file, **common)
        url, label, access = self.prometheus_address, self.node_label, self._access()
        return PrometheusQuery(url=url, query=given, node_label=label, access=access, **common)

    def _query(self) -> str:
        """Return the rates of all nodes' interfaces. Counter resets are ``rate``'s business."""
        device = f"device={json.dumps(self.network_interface)}" if self.network_interface else 'device!="lo"'
        directions = ("receive", "transmit") if self.transmit else ("receive",)
        return " + ".join(
            f"sum by ({self.node_label}) "
            f"(rate(node_network_{way}_bytes_total{{{device}}}[{self.time_range_in_minutes}m]))"
            for way in directions
        )

    def _access(self) -> HttpAccess:
        return HttpAccess(
            self.bearer_token_file, self.username, self.password_file, self.ca_file, self.headers
        )

    def _validate_query(self) -> Iterator[FieldError]:
        if not self.query:
            return
        if not self.prometheus_address:
            yield FieldError("query", "needs prometheusAddress")
        for name, given in (("networkInterface", self.network_interface), ("transmit", self.transmit)):
            if given:
                yield FieldError(name, "is given together with query, which says it")
