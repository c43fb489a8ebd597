"""The sources: a query of Prometheus, JSON over HTTP, a file, and a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import msgspec

from mooring.documents import read_document
from mooring.files import read_file
from mooring.framework import FieldError, MeasurementSource
from mooring.framework.objects.measurement import MAX_MEASURED, MeasuredValue
from mooring.measurements.http import HttpAccess, MeasurementError, is_url


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSource(MeasurementSource):
    """Base of the sources that are servers.

    Attributes:
        url: The server's URL, or that of its document.
        scale: Values are multiplied by this and rounded down, such as 1000 for shares of a CPU.
        access: The credentials.
    """

    url: str = ""
    scale: int = 1
    access: HttpAccess = field(default_factory=HttpAccess)

    def faults(self) -> Iterator[FieldError]:
        yield from MeasurementSource.faults(self)
        if not is_url(self.url):
            message = f"must be a URL such as http://prometheus.monitoring:9090, not {self.url!r}"
            yield FieldError("url", message)
        yield from self.access.faults("access.")

    def scaled(self, value: float) -> int:
        """Return a value of 0 or more as rules read it."""
        product = value * self.scale
        return min(int(product), MAX_MEASURED) if math.isfinite(product) else MAX_MEASURED


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusQuery(HttpSource):
    """A query of Prometheus with one series for each node.

    The highest of several series of one host counts. Series without a number of 0 or more are left out.

    Attributes:
        query: The query in PromQL.
        node_label: The series' label whose value is the node's name or one of its addresses, with or without
            a port.
    """

    query: str = ""
    node_label: str = "instance"

    def measure(self) -> Mapping[str, int]:
        """Ask once for all nodes. Raises MeasurementError if the server gave no usable answer."""
        url = f"{self.url.rstrip('/')}/api/v1/query?query={quote(self.query)}"
        found: dict[str, int] = {}
        for sample in self.access.read(url, self.timeout, _PrometheusAnswer).data.result:
            value, host = float(sample.value[1]), host_of(sample.metric.get(self.node_label, ""))
            if host and value >= 0:
                found[host] = max(found.get(host, 0), self.scaled(value))
        return found

    def faults(self) -> Iterator[FieldError]:
        yield from HttpSource.faults(self)
        if not self.query:
            yield FieldError("query", "is missing")


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: list[_Sample]


class _PrometheusAnswer(msgspec.Struct, frozen=True):
    data: _Data


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpJson(HttpSource):
    """A JSON document at a URL that has an object with the number of each node.

    Attributes:
        under: The keys of the document that lead to the object, joined by dots; "" = the document itself.
    """

    under: str = ""

    def measure(self) -> Mapping[str, int]:
        """Ask once for all nodes. Raises MeasurementError if the server gave no usable answer."""
        found: Any = self.access.read(self.url, self.timeout, dict[str, Any])
        for key in self.under.split(".") if self.under else ():
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise MeasurementError(f"{self.url}: has no object under {self.under!r}")
        numbers = {node: value for node, value in found.items() if type(value) in (int, float)}
        return {node: self.scaled(value) for node, value in numbers.items() if value >= 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementFile(MeasurementSource):
    """A YAML or JSON file of node name to whole number, 0 or more; read again each time."""

    path: str = ""
    of_file: ClassVar[bool] = True

    def measure(self) -> Mapping[str, int]:
        return msgspec.convert(read_document(read_file(self.path).decode()), dict[str, MeasuredValue])


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementFunction(MeasurementSource):
    """A function in Python, called on a timer in a thread of its own. It may read clocks and the network.

    Attributes:
        function: Returns what ``measure`` returns, and raises likewise. Profiles that share the values name
            one function, not one that each of their plugins makes.
    """

    function: Callable[[], Mapping[str, int]] = dict

    def measure(self) -> Mapping[str, int]:
        return self.function()


def host_of(value: str) -> str:
    """Return the host of ``host:port``; anything else is a host already."""
    try:
        parts = urlsplit(f"//{value}")
        return value if parts.port is None else value.rpartition(":")[0].strip("[]")
    except ValueError:
        return value
