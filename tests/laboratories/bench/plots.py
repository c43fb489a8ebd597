"""Figures as pictures: a file per group of workloads, a panel per metric, a bar per workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from tests.laboratories.bench.numbers import number
from tests.laboratories.bench.workload import Figure

WIDTH, BAR, HEAD = 10.0, 0.32, 0.9
"""Inches of a picture, of a bar, and of a panel's other parts."""

LOGARITHMIC = 30.0
"""From this ratio of the largest to the smallest figure on, a panel has a logarithmic axis."""


def draw(group: str, figures: Sequence[Figure], path: Path) -> None:
    """Write a picture of ``figures``, all of one group, to ``path``; its suffix is the format."""
    metrics = list(dict.fromkeys(figure.metric for figure in figures))
    panels = [[figure for figure in figures if figure.metric == metric] for metric in metrics]
    heights = [HEAD + BAR * len(panel) for panel in panels]
    # Text stays text, and equal figures give equal files.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "mooring", "font.size": 9.0}):
        canvas = Canvas(figsize=(WIDTH, sum(heights)), layout="constrained")
        axes = canvas.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, axis in zip(panels, axes, strict=True):
            _panel(group, panel, axis)
        canvas.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(group: str, figures: Sequence[Figure], axis: Axes) -> None:
    names = [figure.workload.removeprefix(f"{group}/") for figure in figures]
    medians = [figure.median for figure in figures]
    below = [figure.median - min(figure.values) for figure in figures]
    above = [max(figure.values) - figure.median for figure in figures]
    positive = [median for median in medians if median > 0]
    axis.barh(names, medians, height=0.6, color="#4878a8")
    axis.errorbar(medians, names, xerr=[below, above], fmt="none", ecolor="#303030", capsize=2.5, lw=1.0)
    if len(positive) == len(medians) and max(medians) > LOGARITHMIC * min(medians):
        axis.set_xscale("log")
        axis.set_xlim(left=min(medians) / 3)
    for at, figure in enumerate(figures):
        beyond = (max(figure.values), at)
        axis.annotate(number(figure.median), beyond, (6, 0), textcoords="offset points", va="center", size=8)
    axis.set_title(figures[0].metric, loc="left", fontweight="bold")
    axis.margins(x=0.12)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
