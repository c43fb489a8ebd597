"""Rules that others published, written from their descriptions; each names its source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    Ledger,
    MeasurementSource,
    Node,
    NodeAmount,
    NodeInfo,
    Normalizer,
    Pod,
    Pure,
    ScorePlugin,
    Status,
    pods_by,
)
from mooring.framework.quantity import millis, parse_quantity, units
from mooring.measurements import HttpJson, MeasurementFunction, PrometheusQuery

GPU = "nvidia.com/gpu"


def requested(pod: Pod, resource: str) -> int:
    """Return the requests of all containers: CPU in thousandths, other resources in units."""
    unit = millis if resource == "cpu" else units
    return sum(unit(parse_quantity(each.resources.requests.get(resource, 0))) for each in pod.spec.containers)


def number(text: str | None) -> float | None:
    """Return the number that ``text`` is; None for any other."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def load(*names: str) -> tuple[MeasurementSource, ...]:
    """Percent of each node, as a load watcher measures them."""
    url = "http://load-watcher.kube-system:2020/watcher"
    return tuple(HttpJson(name=name, url=url, under=name) for name in names)


@dataclass(frozen=True)
class NodeResourcesAllocatableArgs:
    weights: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1 << 20, "memory": 1})
    most: bool = False


class NodeResourcesAllocatable(ScorePlugin[NodeResourcesAllocatableArgs], Pure):
    """Prefers small nodes, or large ones. scheduler-plugins, KEP 48."""

    name = "NodeResourcesAllocatable"
    Args = NodeResourcesAllocatableArgs
    normalizer = Normalizer.BY_MIN_MAX

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        weights = self.args.weights
        size = sum(weight * node.allocatable.get(name, 0) for name, weight in weights.items())
        size //= sum(weights.values())
        return size if self.args.most else -size


@dataclass(frozen=True)
class NodeMetadataArgs:
    annotation: str = "node.example.com/hourly-cost"
    lowest: bool = True


class NodeMetadata(ScorePlugin[NodeMetadataArgs], Pure):
    """Prefers nodes by a number in an annotation. scheduler-plugins, KEP 942."""

    name = "NodeMetadata"
    Args = NodeMetadataArgs
    normalizer = Normalizer.BY_MIN_MAX

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        value = number(node.annotations.get(self.args.annotation))
        if value is None:
            return -(1 << 50) if self.args.lowest else 0
        return int(1000 * value) * (-1 if self.args.lowest else 1)


class ScarceResourceAvoidance(ScorePlugin[None], Pure):
    """Keeps pods that ask for no GPU off nodes that have some. scheduler-plugins, KEP 625."""

    name = "ScarceResourceAvoidance"
    scarce = (GPU, "amd.com/gpu")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered = [name for name in self.scarce if node.allocatable.get(name, 0)]
        wasted = sum(not requested(pod, name) for name in offered)
        return MAX_NODE_SCORE * (len(offered) - wasted + 1) // (len(offered) + 1)


@dataclass(frozen=True)
class NodeResourcesFitPlusArgs:
    most: Mapping[str, int] = field(default_factory=lambda: {GPU: 2})
    least: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})


class NodeResourcesFitPlus(ScorePlugin[NodeResourcesFitPlusArgs], Pure):
    """Packs by some of the resources, and spreads by others. scheduler-plugins, KEP 625."""

    name = "NodeResourcesFitPlus"
    Args = NodeResourcesFitPlusArgs

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        total = weights = 0
        for rated, packs in ((self.args.most, True), (self.args.least, False)):
            for name, weight in rated.items():
                wanted, offered = requested(pod, name), node.allocatable.get(name, 0)
                if not wanted or not offered:
                    continue
                used = min(node.requested.get(name, 0) + wanted, offered) * MAX_NODE_SCORE // offered
                total += weight * (used if packs else MAX_NODE_SCORE - used)
                weights += weight
        return total // weights if weights else 0


class PodState(ScorePlugin[None], Pure):
    """Prefers nodes with leaving pods. scheduler-plugins, podstate (without nominations)."""

    name = "PodState"
    normalizer = Normalizer.BY_MIN_MAX

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return sum(other.metadata.deletion_timestamp is not None for other in node.pods)


@dataclass(frozen=True)
class HighLoadFilterArgs:
    cpu: int = 65
    memory: int = 95


class HighLoadFilter(FilterPlugin[HighLoadFilterArgs], Pure):
    """Rejects nodes that would be too busy. scheduler-plugins, highloadfilter."""

    name = "HighLoadFilter"
    Args = HighLoadFilterArgs

    def measures(self) -> Sequence[MeasurementSource]:
        return load("cpu", "memory")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        for name, most in (("cpu", self.args.cpu), ("memory", self.args.memory)):
            used, offered = node.measurements[name], node.allocatable.get(name, 0)
            if used is not None and offered and used + 100 * requested(pod, name) / offered > most:
                return Status.unschedulable(f"node(s) had too high a load of {name}")
        return SUCCESS


@dataclass(frozen=True)
class TargetLoadPackingArgs:
    target: int = 40


class TargetLoadPacking(ScorePlugin[TargetLoadPackingArgs], Pure):
    """Packs up to a load, and spreads beyond it. scheduler-plugins, KEP 61."""

    name = "TargetLoadPacking"
    Args = TargetLoadPackingArgs

    def measures(self) -> Sequence[MeasurementSource]:
        return load("cpu")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        target, used, offered = self.args.target, node.measurements["cpu"], node.cpu_millicores
        if used is None or not offered:
            return 0
        then = used + 100 * requested(pod, "cpu") / offered
        if then <= target:
            return round(then * (100 - target) / target + target)
        return round(target * max(100 - then, 0) / (100 - target))


class LoadVariationRiskBalancing(ScorePlugin[None], Pure):
    """Prefers nodes with a low and steady load. scheduler-plugins, KEP 61."""

    name = "LoadVariationRiskBalancing"
    margin = 1

    def measures(self) -> Sequence[MeasurementSource]:
        return load("cpu", "cpu-deviation", "memory", "memory-deviation")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        scores = []
        for name in ("cpu", "memory"):
            mean, deviation = node.measurements[name], node.measurements[f"{name}-deviation"]
            offered = node.allocatable.get(name, 0)
            if mean is None or deviation is None or not offered:
                return 0
            mean = min(mean + 100 * requested(pod, name) // offered, 100)
            scores.append(100 - min(mean + self.margin * deviation, 200) // 2)
        return min(scores)


class Peaks(ScorePlugin[None], Pure):
    """Prefers nodes whose power rises least with the pod. scheduler-plugins, Peaks."""

    name = "Peaks"
    normalizer = Normalizer.BY_MAX_REVERSED
    factor = 0.03

    def measures(self) -> Sequence[MeasurementSource]:
        return load("cpu")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        used, offered = node.measurements["cpu"], node.cpu_millicores
        if used is None or not offered:
            return 0
        then = min(used + 100 * requested(pod, "cpu") / offered, 100)
        return int(1000 * (math.exp(self.factor * then) - math.exp(self.factor * min(used, 100))))


class PodAllocatableIP(Ledger[None]):
    """Passes nodes with a free pod address. scheduler-plugins, KEP 219."""

    name = "PodAllocatableIP"
    full = "node(s) had no free pod address"
    addresses = NodeAmount(annotation="node.example.com/allocatable-ips")

    def amount(self, pod: Pod) -> int:
        return int(not pod.spec.host_network)

    def capacity(self, node: Node) -> int | Status:
        return self.addresses.of(node) or 0


@dataclass(frozen=True)
class NodeGroupArgs:
    required: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"a": ("a", "b"), "b": ("b",)})
    preferred: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"a": ("a",)})


class NodeGroup(FilterPlugin[NodeGroupArgs], ScorePlugin[NodeGroupArgs], Pure):
    """Keeps the pods of a queue on its groups of nodes. Volcano, nodegroup."""

    name = "NodeGroup"
    Args = NodeGroupArgs

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        groups = self.args.required.get(pod.metadata.annotations.get("volcano.sh/queue-name", ""))
        if groups is None or node.labels.get("volcano.sh/nodegroup-name") in groups:
            return SUCCESS
        return Status.unresolvable("node(s) belonged to the groups of other queues")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        groups = self.args.preferred.get(pod.metadata.annotations.get("volcano.sh/queue-name", ""), ())
        return MAX_NODE_SCORE if node.labels.get("volcano.sh/nodegroup-name") in groups else 0


def the_hour() -> Mapping[str, int]:
    """Return the hour of the day, under a name that no node has."""
    return {"-": datetime.now(UTC).hour}


class RevocableZone(FilterPlugin[None], Pure):
    """Lends nodes to preemptible pods, at night alone. Volcano, tdm."""

    name = "RevocableZone"
    begin, end = 20, 6

    def measures(self) -> Sequence[MeasurementSource]:
        return (MeasurementFunction(name="hour", function=the_hour, unmeasured_as_highest=True),)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if "volcano.sh/revocable-zone" not in node.labels:
            return SUCCESS
        if pod.metadata.annotations.get("volcano.sh/preemptable") != "true":
            return Status.unresolvable("node(s) were for preemptible pods")
        hour = node.measurements["hour"]
        open_now = hour is not None and (hour >= self.begin or hour < self.end)
        return SUCCESS if open_now else Status.unresolvable("node(s) were not lent at that hour")


class JobTogether(ScorePlugin[None], Pure):
    """Gathers the pods of a job on few nodes. Volcano, task-topology."""

    name = "JobTogether"
    normalizer = Normalizer.BY_MAX
    of_job = pods_by(label="volcano.sh/job-name", topology="kubernetes.io/hostname", own_namespace=True)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return self.of_job(pod, node) if "volcano.sh/job-name" in pod.metadata.labels else 0


class CraneDynamic(FilterPlugin[None], ScorePlugin[None], Pure):
    """Goes by loads that an agent writes to annotations. Crane scheduler (without the age of values)."""

    name = "CraneDynamic"
    limits: Mapping[str, float] = {"cpu_usage_avg_5m": 0.65, "mem_usage_avg_5m": 0.65}
    weights: Mapping[str, float] = {"cpu_usage_avg_5m": 0.5, "mem_usage_avg_5m": 0.5}

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        for name, limit in self.limits.items():
            if self.usage(node, name) > limit:
                return Status.unschedulable(f"node(s) had a too high {name}")
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        free = sum(weight * (1 - self.usage(node, name)) for name, weight in self.weights.items())
        return round(MAX_NODE_SCORE * max(0.0, min(1.0, free)))

    def usage(self, node: NodeInfo, name: str) -> float:
        return number(node.annotations.get(name, "").partition(",")[0]) or 0.0


class TopoLVM(FilterPlugin[None], ScorePlugin[None], Pure):
    """Passes nodes with room in their volume group, and prefers those with most. TopoLVM, its extender."""

    name = "TopoLVM"
    capacity = "capacity.topolvm.io/00default"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = number(pod.metadata.annotations.get(self.capacity))
        if wanted is None or self.free(node) >= wanted:
            return SUCCESS
        return Status.unschedulable("node(s) had too little room in the volume group")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        gigabytes = self.free(node) / (1 << 30)
        return round(10 * max(0.0, min(10.0, math.log2(gigabytes)))) if gigabytes > 0 else 0

    def free(self, node: NodeInfo) -> float:
        return number(node.annotations.get(self.capacity)) or 0.0


class GPUShare(FilterPlugin[None], Pure):
    """Passes nodes with enough memory on one GPU. gpushare-scheduler-extender."""

    name = "GPUShare"
    memory, count = "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
    index = "ALIYUN_COM_GPU_MEM_IDX"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = requested(pod, self.memory)
        if not wanted:
            return SUCCESS
        count = node.allocatable.get(self.count, 0)
        free = [node.allocatable.get(self.memory, 0) // count] * count if count else []
        for other in node.pods:
            index = other.metadata.annotations.get(self.index, "")
            if index.isdecimal() and int(index) < count:
                free[int(index)] -= requested(other, self.memory)
        return SUCCESS if max(free, default=0) >= wanted else Status.unschedulable("no GPU had enough memory")


class Cheapest(ScorePlugin[None], Pure):
    """Prefers the cheapest node. kelseyhightower/scheduler."""

    name = "Cheapest"
    normalizer = Normalizer.BY_MIN_MAX

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        cost = number(node.annotations.get("hightower.com/cost"))
        return -(1 << 40) if cost is None else -int(1000 * cost)


class GreenEnergy(FilterPlugin[None], ScorePlugin[None], Pure):
    """Prefers nodes with much renewable power; some pods need it. green-k8s-scheduler."""

    name = "GreenEnergy"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if pod.metadata.labels.get("green") == "required" and node.labels.get("green") != "true":
            return Status.unresolvable("node(s) had no green power")
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        share = number(node.annotations.get("renewable")) or 0.0
        return round(MAX_NODE_SCORE * max(0.0, min(1.0, share)))


@dataclass(frozen=True)
class TelemetryPolicyArgs:
    dont_schedule: int = 80
    url: str = "http://prometheus.monitoring:9090"


class TelemetryPolicy(FilterPlugin[TelemetryPolicyArgs], ScorePlugin[TelemetryPolicyArgs], Pure):
    """Goes by a metric for pods with a policy. Telemetry Aware Scheduling."""

    name = "TelemetryPolicy"
    Args = TelemetryPolicyArgs
    normalizer = Normalizer.BY_MAX_REVERSED

    def measures(self) -> Sequence[MeasurementSource]:
        return (PrometheusQuery(name="health", url=self.args.url, query="node_health"),)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if "telemetry-policy" not in pod.metadata.labels:
            return SUCCESS
        value = node.measurements["health"]
        broken = value is not None and value > self.args.dont_schedule
        return Status.unschedulable("node(s) broke the telemetry policy") if broken else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return (node.measurements["health"] or 0) if "telemetry-policy" in pod.metadata.labels else 0


class ServiceAntiAffinity(ScorePlugin[None], Pure):
    """Spreads the pods of an app over racks. kube-scheduler up to 1.22."""

    name = "ServiceAntiAffinity"
    normalizer = Normalizer.BY_MAX_REVERSED
    in_rack = pods_by(label="app", topology="example.com/rack", own_namespace=True)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return self.in_rack(pod, node) if "app" in pod.metadata.labels else 0


@dataclass(frozen=True)
class CheckNodeLabelPresenceArgs:
    present: tuple[str, ...] = ("example.com/ready",)
    absent: tuple[str, ...] = ("example.com/retiring",)


class CheckNodeLabelPresence(FilterPlugin[CheckNodeLabelPresenceArgs], Pure):
    """Passes nodes that have some labels and lack others. kube-scheduler up to 1.22."""

    name = "CheckNodeLabelPresence"
    Args = CheckNodeLabelPresenceArgs

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        lacks = any(key not in node.labels for key in self.args.present)
        if lacks or any(key in node.labels for key in self.args.absent):
            return Status.unresolvable("node(s) didn't have the requested labels")
        return SUCCESS


class DataResidency(FilterPlugin[None], Pure):
    """Keeps pods on nodes of the region that their data may be in. KubeDojo, module 1.7."""

    name = "DataResidency"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = pod.metadata.labels.get("compliance.example.com/region")
        if not wanted or node.labels.get("topology.kubernetes.io/region") == wanted:
            return SUCCESS
        return Status.unresolvable("node(s) were in another region than the data")
