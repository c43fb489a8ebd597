"""Sources of measurements of the nodes' network: Prometheus, or a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Protocol
from urllib.parse import quote, urlsplit

import msgspec

from mooring.documents import read_document
from mooring.files import read_file
from mooring.http_client.client import get
from mooring.http_client.origin import head_of
from mooring.plugins.network_traffic.access import PrometheusAccess

MAX_BYTES = 2**63 - 1
"""The largest measurement; a larger one counts as this."""

ANSWER_BYTES = 16 << 20
"""Bytes of the longest answer: a node takes some 200."""

Bytes = Annotated[int, msgspec.Meta(ge=0, le=MAX_BYTES)]


class BandwidthSource(Protocol):
    """A source of measurements."""

    def measure(self) -> Mapping[str, int]:
        """Bytes per second by node name or node address, for the nodes that have a measurement.

        Raises:
            Exception: They can't be had now; the text says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class BandwidthFile:
    """A YAML or JSON file of node name to bytes per second, 0 or more."""

    path: Path

    def measure(self) -> Mapping[str, int]:
        return msgspec.convert(read_document(read_file(self.path).decode()), dict[str, Bytes])


@dataclass(frozen=True, slots=True)
class NoBandwidth:
    """No source: no node has a measurement."""

    def measure(self) -> Mapping[str, int]:
        return {}


class QueryError(Exception):
    """Prometheus did not answer, or rejected the query; the text says why."""


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: list[_Sample]


class _PrometheusAnswer(msgspec.Struct, frozen=True):
    data: _Data


class _PrometheusError(msgspec.Struct, frozen=True):
    error: str


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Rates from the counters of node exporters: one query for all nodes.

    Attributes:
        address: The server's URL.
        interface: The interface; "" = all but the loopback.
        minutes: The time over which is averaged.
        transmit: Whether sent bytes count, too.
        label: The label with the node's name.
        seconds: How long an answer may take.
        own_query: PromQL that replaces the one made from these four; "" = none.
        access: The credentials.
    """

    address: str
    interface: str
    minutes: int
    transmit: bool
    label: str
    seconds: float
    own_query: str = ""
    access: PrometheusAccess = field(default_factory=PrometheusAccess)

    @property
    def query(self) -> str:
        """The query in PromQL. Counter resets are ``rate``'s business."""
        if self.own_query:
            return self.own_query
        device = f"device={json.dumps(self.interface)}" if self.interface else 'device!="lo"'
        directions = ("receive", "transmit") if self.transmit else ("receive",)
        return " + ".join(
            f"sum by ({self.label}) (rate(node_network_{way}_bytes_total{{{device}}}[{self.minutes}m]))"
            for way in directions
        )

    def measure(self) -> Mapping[str, int]:
        """Bytes per second; of two series of one host the larger counts.

        Raises:
            QueryError: There is no answer that can be used.
        """
        found: dict[str, int] = {}
        for sample in self._ask().data.result:
            value = float(sample.value[1])
            host = host_of(sample.metric.get(self.label, ""))
            if host and value >= 0:
                found[host] = max(found.get(host, 0), _whole(value))
        return found

    def _ask(self) -> _PrometheusAnswer:
        url = f"{self.address.rstrip('/')}/api/v1/query?query={quote(self.query)}"
        try:
            head = head_of(self.access.request_headers())
            answer = get(url, head, self.seconds, tls=self.access.tls, max_bytes=ANSWER_BYTES)
        except OSError as error:
            raise QueryError(f"{self.address}: {error}") from None
        except ValueError:
            # The error's text has the credentials in it.
            raise QueryError(
                f"{self.address}: a file with credentials isn't one line of plain text"
            ) from None
        if not 200 <= answer.status < 300:
            raise QueryError(f"{self.address}: HTTP {answer.status}: {_error_text(answer.body)}")
        try:
            return msgspec.json.decode(answer.body, type=_PrometheusAnswer)
        except msgspec.DecodeError as error:
            raise QueryError(f"{self.address}: no answer to a query: {error}") from None


def host_of(value: str) -> str:
    """Return the host of ``host:port``; anything else is a host already."""
    try:
        parts = urlsplit(f"//{value}")
        return value if parts.port is None else value.rpartition(":")[0].strip("[]")
    except ValueError:
        return value


def _whole(value: float) -> int:
    return min(int(value), MAX_BYTES) if math.isfinite(value) else MAX_BYTES


def _error_text(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_PrometheusError).error
    except msgspec.DecodeError:
        return "no reason given"
