"""Fragmentation Gradient Descent (Weng et al., USENIX ATC 2023) for nodes whose GPUs may be shared.

A pod takes a thousandth of a GPU or more: the annotation `gpu-count` says of how many, `gpu-milli` how many
of each. A node offers the resource example.com/gpu-milli; its label `gpu-model` says of which GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    Int64s,
    NodeView,
    Pod,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.pod_requests import pod_usage

GPUS, WHOLE = 8, 1_000
"""The most GPUs of a node; the thousandths of one."""


@dataclass(frozen=True)
class FgdArgs:
    """The typical pods: of each kind [milli CPU, GPUs, thousandths of each, models as A|B, how many]."""

    typical: tuple[tuple[int, int, int, str, int], ...] = ((0, 1, WHOLE, "", 1),)


@dataclass(frozen=True)
class Shape:
    """What matters about a pod."""

    cpu: int
    count: int
    milli: int

    @classmethod
    def of(cls, pod: Pod) -> Shape:
        notes = pod.metadata.annotations
        cpu = dict(pod_usage(pod).requests).get("cpu", 0)
        return cls(cpu, int(notes.get("gpu-count", 0)), int(notes.get("gpu-milli", 0)))


class Fgd(PreFilterPlugin[FgdArgs], FilterPlugin[FgdArgs], ScorePlugin[FgdArgs], ReservePlugin[FgdArgs]):
    """Selects the GPUs where a pod makes the least of all free GPUs useless to typical pods."""

    name = "FGD"
    Args = FgdArgs

    def __init__(self, args: FgdArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        cpu, count, milli, self._models, shares = zip(*args.typical, strict=True)
        self._cpu, self._count, self._milli = (np.array(each, np.int64) for each in (cpu, count, milli))
        self._shares = np.array(shares) / sum(shares)
        self._free: Int64s = np.zeros((0, GPUS), np.int64)
        self._rated: dict[Shape, Int64s] = {}
        self._changed: list[int] = []
        self._seen: dict[Shape, int] = {}
        self._taken: dict[str, tuple[int, Int64s]] = {}

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        if not len(self._free):
            self._free = np.zeros((int(nodes.rows.max()) + 1, GPUS), np.int64)
            self._usable = np.zeros((len(self._free), len(self._models)), np.bool_)
            self._row = dict(zip(nodes.names, nodes.rows.tolist(), strict=True))
            for row, info in zip(nodes.rows.tolist(), nodes.infos(), strict=True):
                self._free[row, : info.allocatable.get("example.com/gpu-milli", 0) // WHOLE] = WHOLE
                model = info.node.metadata.labels.get("gpu-model", "")
                self._usable[row] = [not models or model in models.split("|") for models in self._models]
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        shape = Shape.of(pod)
        fit = (self._free[nodes.rows] >= shape.milli).sum(1)
        return Verdicts.reject_where(fit < shape.count, Status.unschedulable("Insufficient GPUs"))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """Rate the nodes that changed since pods of this shape were asked about; the others are known."""
        shape = Shape.of(pod)
        scores, gpus = self._rated.setdefault(shape, np.full((2, len(self._free)), -1))
        scores[self._changed[self._seen.get(shape, 0) :]] = -1
        self._seen[shape] = len(self._changed)
        asked = nodes.subset(nodes.rows[scores[nodes.rows] < 0])
        scores[asked.rows], gpus[asked.rows] = self._rate(shape, asked)
        known: Int64s = scores[nodes.rows]
        return known

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        # The first one of equal nodes, as in the published runs.
        normalized = np.minimum(scores, 99)
        normalized[np.argmax(scores)] = 100
        return normalized

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        row, shape = self._row[node_name], Shape.of(pod)
        free, rated = self._free[[row]], self._rated.get(shape)
        # Where other plugins score, the fullest GPU that is free enough.
        fullest = np.where(free >= shape.milli, free, WHOLE + 1).argmin(1)
        taken = _taken(shape, free, fullest if rated is None else rated[1, [row]])[0]
        self._free[row] -= taken
        self._changed.append(row)
        self._taken[pod.metadata.uid] = row, taken
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        if pod.metadata.uid in self._taken:
            row, taken = self._taken.pop(pod.metadata.uid)
            self._free[row] += taken
            self._changed.append(row)

    def _rate(self, shape: Shape, nodes: NodeView) -> tuple[Int64s, Int64s]:
        """int64[K] each: the points of the best GPU of each node, and which one that is, or is the first."""
        free, cpu = self._free[nodes.rows], nodes.allocatable("cpu") - nodes.requested("cpu")
        before = self.cost(free, cpu, nodes.rows)
        best, gpus = np.full(len(nodes), -1), np.zeros(len(nodes), np.int64)
        for gpu in range(GPUS if shape.count == 1 else 1):
            at = np.flatnonzero(free[:, gpu] >= shape.milli) if shape.count == 1 else np.arange(len(nodes))
            left = free[at] - _taken(shape, free[at], np.full(len(at), gpu))
            rated = self.points(before[at] - self.cost(left, cpu[at] - shape.cpu, nodes.rows[at]))
            better = rated > best[at]
            best[at[better]], gpus[at[better]] = rated[better], gpu
        return best, gpus

    def points(self, saved: Any) -> Int64s:
        """int64[K]: 0 to 100, for how much lower the ``cost`` of each node is with the pod."""
        rated: Int64s = (100 / (1 + np.exp(-saved / WHOLE))).astype(np.int64)
        return rated

    def cost(self, free: Int64s, cpu: Int64s, rows: Any) -> Any:
        """float64[K]: how much of the free GPUs, int64[K, GPUS], a typical pod can't use on average."""
        usable = free[:, :, None] >= np.maximum(self._milli, 1)
        fits = (usable.sum(1) >= self._count) & (cpu[:, None] >= self._cpu) & self._usable[rows]
        useless = (free[:, :, None] * ~usable).sum(1)
        return np.where(fits & (self._count > 0), useless, free.sum(1)[:, None]) @ self._shares


def _taken(shape: Shape, free: Int64s, gpus: Int64s) -> Int64s:
    """int64[K, GPUS]: what a pod takes of each GPU: the one of ``gpus``, or the first of those that fit."""
    fit = free >= shape.milli
    first = fit & (np.cumsum(fit, 1) <= shape.count)
    return np.where(np.arange(GPUS) == gpus[:, None] if shape.count == 1 else first, shape.milli, 0)
