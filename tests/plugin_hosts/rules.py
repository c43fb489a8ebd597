"""Rules as plugins of a host, and the same rules in process.

``python -m tests.plugin_hosts.rules ADDRESS`` serves them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    MeasurementSource,
    NodeInfo,
    Normalizer,
    Pod,
    Pure,
    ScorePlugin,
    Status,
    pods_by,
)
from mooring_client.plugin_host.hosting import HostedPlugin, Unresolvable, Values, serve
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from tests.laboratories.histories.pods import ZONE

# Labels and annotations that the nodes and pods of random histories have.
RACK, HOST, MAINTENANCE, MASTER, IPS = ZONE, "kubernetes.io/hostname", "gpu", "gpu", "weight"
USES = "version"


class FilterLabel(FilterPlugin[None], Pure):
    name = "FilterLabel"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) in maintenance") if node.labels.get(MAINTENANCE) else SUCCESS


class FilterLabelHosted(HostedPlugin):
    name = "FilterLabel"
    node_columns = ("metadata.labels[gpu]",)

    def filter(self, pod: Values, node: Values) -> str | None:
        return "node(s) in maintenance" if node["metadata.labels[gpu]"] else None


class ScoreFree(ScorePlugin[None], Pure):
    name = "ScoreFree"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered = node.allocatable.get("memory", 0) or 1
        return MAX_NODE_SCORE * max(offered - node.requested.get("memory", 0), 0) // offered


class ScoreFreeHosted(HostedPlugin):
    name = "ScoreFree"
    node_columns = ("allocatable[memory]", "requested[memory]")

    def score(self, pod: Values, node: Values) -> int:
        offered, requested = (int(node[name] or 0) for name in self.node_columns)
        return 100 * max((offered or 1) - requested, 0) // (offered or 1)


class Rack(FilterPlugin[None], ScorePlugin[None], Pure):
    name = "Rack"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unresolvable("node(s) in maintenance") if node.labels.get(MAINTENANCE) else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        wanted = pod.metadata.labels.get("app")
        return MAX_NODE_SCORE if wanted and node.labels.get(RACK) == wanted else 0


class RackHosted(HostedPlugin):
    name = "Rack"
    pod_fields = ("metadata.labels[app]",)
    node_columns = ("metadata.labels[gpu]", f"metadata.labels[{RACK}]")

    def filter(self, pod: Values, node: Values) -> str | None:
        return Unresolvable("node(s) in maintenance") if node["metadata.labels[gpu]"] else None

    def score(self, pod: Values, node: Values) -> int:
        wanted = pod["metadata.labels[app]"]
        return 100 if wanted and node[f"metadata.labels[{RACK}]"] == wanted else 0


class CountPerRack(FilterPlugin[None], Pure):
    name = "CountPerRack"
    in_rack = pods_by(label="app", topology=RACK)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        full = self.in_rack(pod, node) >= 4
        return Status.unschedulable("rack(s) had enough pods of the app") if full else SUCCESS


class CountPerRackHosted(HostedPlugin):
    name = "CountPerRack"
    node_columns = (f"counted[app by {RACK}]",)

    def filter(self, pod: Values, node: Values) -> str | None:
        full = int(node[f"counted[app by {RACK}]"] or 0) >= 4
        return "rack(s) had enough pods of the app" if full else None


def whole(text: str) -> int:
    """Return a whole number; 0 for another text, since users write any text into labels."""
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else 0


class UnderlayLike(FilterPlugin[None], ScorePlugin[None], Pure):
    """As UnderlayIP: pods of one kind each take one of the addresses that a node has."""

    name = "UnderlayLike"
    normalizer = Normalizer.BY_MAX
    there = pods_by(label=USES, topology=HOST)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if pod.metadata.labels.get(USES) is None or pod.spec.host_network:
            return SUCCESS
        if MASTER in node.labels:
            return Status.unresolvable("node(s) were masters")
        return SUCCESS if self._left(pod, node) > 0 else Status.unschedulable("no free underlay IP")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(self._left(pod, node), 0)

    def _left(self, pod: Pod, node: NodeInfo) -> int:
        return whole(node.labels.get(IPS, "2")) - self.there(pod, node)


class UnderlayLikeHosted(HostedPlugin):
    name = "UnderlayLike"
    normalizer = pb.NORMALIZER_BY_MAX
    pod_fields = (f"metadata.labels[{USES}]", "spec.hostNetwork")
    node_columns = (f"metadata.labels[{MASTER}]", f"metadata.labels[{IPS}]", f"counted[{USES} by {HOST}]")

    def filter(self, pod: Values, node: Values) -> str | None:
        if pod[self.pod_fields[0]] is None or pod["spec.hostNetwork"] == "true":
            return None
        if node[self.node_columns[0]] is not None:
            return Unresolvable("node(s) were masters")
        return None if self._left(node) > 0 else "no free underlay IP"

    def score(self, pod: Values, node: Values) -> int:
        return max(self._left(node), 0)

    def _left(self, node: Values) -> int:
        own, there = node[self.node_columns[1]], node[self.node_columns[2]]
        return whole("2" if own is None else str(own)) - int(there or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth(MeasurementSource):
    """Values that a test sets."""

    name: str = "load"
    interval: timedelta = timedelta(seconds=15)
    values: Mapping[str, int] = field(default_factory=dict, compare=False)

    def measure(self) -> Mapping[str, int]:
        return self.values


class Traffic(ScorePlugin[None], Pure):
    """As NetworkTraffic: the quiet nodes win."""

    name = "Traffic"
    normalizer = Normalizer.BY_MAX_REVERSED

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return node.measurements["load"] or 0


class TrafficHosted(HostedPlugin):
    name = "Traffic"
    normalizer = pb.NORMALIZER_BY_MAX_REVERSED
    node_columns = ("measured[load]",)

    def score(self, pod: Values, node: Values) -> int:
        return int(node["measured[load]"] or 0)


class Requests(FilterPlugin[None], Pure):
    """Reads requests, taints, the name and the priority."""

    name = "Requests"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if node.taints and not pod.priority:
            return Status.unschedulable("tainted")
        return Status.unresolvable("odd") if node.name.endswith("3") and pod.priority > 5 else SUCCESS


class RequestsHosted(HostedPlugin):
    name = "Requests"
    pod_fields = ("spec.priority", "requests[cpu]")
    node_columns = ("spec.taints", "metadata.name")

    def filter(self, pod: Values, node: Values) -> str | None:
        priority = int(pod["spec.priority"] or 0)
        if node["spec.taints"] != "[]" and not priority:
            return "tainted"
        return Unresolvable("odd") if str(node["metadata.name"]).endswith("3") and priority > 5 else None


PAIRS: Mapping[str, tuple[type[Any], type[HostedPlugin]]] = {
    hosted.described().name: (plain, hosted)
    for plain, hosted in (
        (FilterLabel, FilterLabelHosted),
        (ScoreFree, ScoreFreeHosted),
        (Rack, RackHosted),
        (CountPerRack, CountPerRackHosted),
        (UnderlayLike, UnderlayLikeHosted),
        (Traffic, TrafficHosted),
        (Requests, RequestsHosted),
    )
}
"""Each rule in process, and in a host."""

if __name__ == "__main__":
    serve([hosted for _, hosted in PAIRS.values()], sys.argv[1]).wait_for_termination()
