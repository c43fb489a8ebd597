"""Scheduling decisions in a notebook: explain, compare configurations, try a rule that is written in a cell.

>>> from mooring import lab
>>> cluster = lab.load("cluster.json")
>>> cluster.explain("prod/web")                          # why it goes where it goes
>>> cluster.compare({"spread": None, "pack": "pack.yaml"}).frame

Needs the extra ``lab`` for data frames and plots: ``pip install '.[lab]'`` in its repository. Without it
everything works but what is called ``frame`` or ``plot``.
"""

from mooring.lab.cluster import Cluster
from mooring.lab.comparison import Comparison, Sweep, plot_runs, plot_series
from mooring.lab.decision import Decision
from mooring.lab.frames import AnswerTable
from mooring.lab.measures import Measure, emptied, most_used, over, stdev, unplaced
from mooring.lab.objects import load, node, pod, sample
from mooring.lab.placing import Placed
from mooring.lab.rules import Rule, export, filtering, scoring
from mooring.lab.server import RunningServer

__all__ = [
    "AnswerTable",
    "Cluster",
    "Comparison",
    "Decision",
    "Measure",
    "Placed",
    "Rule",
    "RunningServer",
    "Sweep",
    "emptied",
    "export",
    "filtering",
    "load",
    "most_used",
    "node",
    "over",
    "plot_runs",
    "plot_series",
    "pod",
    "sample",
    "scoring",
    "stdev",
    "unplaced",
]
