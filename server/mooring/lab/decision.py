"""One decision, as a notebook shows it: as text, and as the page's component with weights to play with."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from mooring.framework import Code
from mooring.framework.errors import FailedPreconditionError, NotFoundError, not_installed
from mooring.lab.frames import AnswerTable, Columns, Tabular, frame_of
from mooring.runtime.answers import Explanation
from mooring.service.wire.decision_messages import ExplainedNodes
from mooring.service.wire.explanation import to_response
from mooring.web.columns import encode
from mooring_client.v1 import objects_pb2

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

FIGURES = ("raw", "normalized", "weight", "weighted")
"""The columns that have numbers."""

FINDINGS = {
    **dict.fromkeys(("node", "plugin", "code", "subject"), "str"),
    **dict.fromkeys(("asked", "taken", "limit"), "float64"),
    **dict.fromkeys(("holders", "message"), "str"),
}
"""The columns of findings."""

SHOWN_NODES = 20
"""The nodes that a notebook shows; all are in the frame."""


class Decision(Tabular):
    """The node of a pod, and why. Immutable. Safe from any thread.

    Args:
        explanation: With all rejections.
        changes: Returns changes after which the pod fits on one of some nodes, none = any.
        blame: Returns what is to blame that the pod does not go to a node, "" = that it goes where it goes.
        advise: Returns what would make the pod fit, as the page shows it; None = nothing is known.
    """

    def __init__(
        self,
        explanation: Explanation,
        changes: Callable[[Sequence[str]], AnswerTable] | None = None,
        blame: Callable[[str], AnswerTable] | None = None,
        advise: Callable[[], Mapping[str, Any] | None] | None = None,
    ) -> None:
        self._explanation = explanation
        self._changes, self._blame, self._advise = changes, blame, advise
        self.document = explanation.document()
        """As ``mooring explain -o json`` prints it."""

    @property
    def node(self) -> str | None:
        """The selected node; None without one."""
        found: str | None = self.document["selected"]
        return found

    @property
    def ties(self) -> list[str]:
        """The nodes with the highest total, the selected one included."""
        return list(self.document["ties"])

    @property
    def message(self) -> str:
        """Why there is no node, as in the pod's condition; "" if there is one."""
        return str(self.document["status"]["message"])

    @property
    def columns(self) -> Columns:
        """One row for each node and plugin with a verdict or score on it.

        Columns: ``node``, ``plugin``, ``raw``, ``normalized``, ``weight`` and ``weighted`` (None if the
        plugin rejected), ``code``, and ``reason`` ("" if it scored).
        """
        names = ("node", "plugin", "raw", "normalized", "weight", "weighted", "code", "reason")
        rows = [row for name, node in self.document["nodes"].items() for row in _rows(name, node)]
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as a data frame; the four figures are float64, NaN where a plugin rejected.

        Raises:
            FailedPreconditionError: pandas is not installed.
        """
        return frame_of(self.columns).astype(dict.fromkeys(FIGURES, "float64"))

    def what_would_it_take(self, *nodes: str) -> AnswerTable:
        """Return sets of changes after which the pod fits, as ``Cluster.change``.

        Args:
            nodes: The nodes to consider; default any, or a new one.

        Raises:
            FailedPreconditionError: The decision is not of a cluster of the lab.
            NotFoundError: There is no such node.
        """
        if self._changes is None:
            raise _alone()
        return self._changes(nodes)

    def blame(self, node: str = "") -> AnswerTable:
        """Return which pods, rules, gates and configuration cost the decision, as ``Cluster.blame``.

        Args:
            node: Why not this node? Default: why no node takes the pod, or why it goes where it goes.

        Raises:
            FailedPreconditionError: The decision is not of a cluster of the lab.
            NotFoundError: There is no such node.
        """
        if self._blame is None:
            raise _alone()
        return self._blame(node)

    def why_not(self, node: str) -> list[str]:
        """Return what every plugin that rejects the node says, as "plugin: reason"; none if it is feasible.

        Raises:
            NotFoundError: There is no such node.
        """
        return [
            f"{status['plugin'] or 'mooring'}: {', '.join(status['reasons'])}"
            for status in self._node(node).get("rejections", ())
        ]

    def findings(self, *nodes: str) -> AnswerTable:
        """Return what is in the way of the pod: on some nodes, or on all and whatever the node.

        Columns: ``node`` ("" = whatever the node), ``plugin``, ``code``, ``subject``, ``asked``, ``taken``
        and ``limit`` (NaN if nothing is counted), ``holders`` and ``message``.

        Args:
            nodes: The nodes; default all.

        Raises:
            NotFoundError: There is no such node.
        """
        found = [] if nodes else [("", each) for each in self.document["findings"]]
        for name in nodes or self.document["nodes"]:
            found += [(name, each) for each in self._node(name).get("findings", ())]
        things = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
        said = f"{things} in the way of {self._explanation.namespace}/{self._explanation.name}"
        return AnswerTable.of(said, FINDINGS, [_finding_row(node, each) for node, each in found])

    def compare(self, node: str, other: str | None = None) -> dict[str, int]:
        """Return by plugin how many points ``node`` is ahead of ``other``, weighted; "total" is the sum.

        Args:
            node: One of the scored nodes.
            other: Another one; default the selected node.

        Raises:
            NotFoundError: There is no such node, or it has no scores.
        """
        first, second = self._scored(node), self._scored(other or self.node or "")
        difference = {
            plugin: entry["weighted"] - second["scores"][plugin]["weighted"]
            for plugin, entry in first["scores"].items()
        }
        return {**difference, "total": first["total"] - second["total"]}

    def show(self) -> DecisionView:
        """Return all nodes and plugins as the page shows them: to sort, to compare, to weigh differently.

        Without a node, advice comes first: changes with which the pod would fit.
        """
        advice = self._advise() if self.node is None and self._advise is not None else None
        return DecisionView.of(self._explanation, advice)

    def plot(self, most: int = SHOWN_NODES) -> alt.Chart:
        """Return a plot: the points that each plugin gives the best nodes.

        If no node is feasible, it has the number of nodes that each plugin rejects.

        Args:
            most: At most this many nodes, those with the highest totals.

        Raises:
            FailedPreconditionError: altair or pandas is not installed.
        """
        try:
            import altair as alt
        except ImportError as error:
            raise not_installed("altair", "lab") from error
        frame = self.frame
        scored = frame[frame.reason == ""]
        if scored.empty:
            counts = frame.groupby("plugin", as_index=False).agg(nodes=("node", "nunique"))
            rejected: alt.Chart = (
                alt.Chart(counts)
                .mark_bar()
                .encode(alt.X("nodes:Q", title="rejected nodes"), alt.Y("plugin:N", title="", sort="-x"))
            )
            return rejected.properties(width=420)
        best = scored.groupby("node").weighted.sum().nlargest(most).index
        points: alt.Chart = (
            alt.Chart(scored[scored.node.isin(best)])
            .mark_bar()
            .encode(
                alt.X("sum(weighted):Q", title="points"),
                alt.Y("node:N", title="", sort="-x"),
                alt.Color("plugin:N", title=""),
            )
        )
        return points.properties(width=420)

    def _scored(self, name: str) -> dict[str, Any]:
        node = self._node(name)
        if node["total"] is None:
            raise NotFoundError(f"node {name!r} has no scores", reason="NODE_NOT_FOUND", node=name)
        return node

    def _node(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.document["nodes"][name]
        except KeyError:
            raise NotFoundError(f"there is no node {name!r}", reason="NODE_NOT_FOUND", node=name) from None
        return found

    def __repr__(self) -> str:
        given = self.document
        looked = f"{given['evaluated']} evaluated, {given['feasible']} feasible"
        if self.node is None:
            return f"{given['pod']}: no node ({looked}): {self.message or given['status']['code']}"
        total = given["nodes"][self.node]["total"]
        won = f"{total} of {100 * self._explanation.weight_sum}" if total is not None else "the only one"
        tied = f", {len(self.ties)} tied" if len(self.ties) > 1 else ""
        return f"{given['pod']} → {self.node}: {won}{tied} ({looked})"

    def _repr_html_(self) -> str:
        """Return the sentence and the best nodes, for a notebook."""
        ranked = sorted(
            self.document["nodes"].items(),
            key=lambda item: (item[1]["total"] is None, -(item[1]["total"] or 0), item[0]),
        )
        plugins = list(dict.fromkeys(plugin for _, node in ranked for plugin in node["scores"]))
        head = "".join(f"<th>{escape(name)}</th>" for name in ("node", "total", *plugins, "rejected by"))
        body = "".join(_html_row(name, node, plugins) for name, node in ranked[:SHOWN_NODES])
        more = len(ranked) - SHOWN_NODES
        rest = f"<p>and {more} more nodes, see <code>.frame</code></p>" if more > 0 else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{escape(repr(self))}</p>{table}{rest}"


def _alone() -> FailedPreconditionError:
    text = "nothing is known about the cluster of this decision; use lab.load"
    return FailedPreconditionError(text, reason="REQUEST_INVALID")


def _rows(name: str, node: dict[str, Any]) -> list[tuple[Any, ...]]:
    scores = [
        (name, plugin, of["raw"], of["normalized"], of["weight"], of["weighted"], Code.SUCCESS.label, "")
        for plugin, of in node["scores"].items()
    ]
    return scores + [
        (name, status["plugin"], None, None, None, None, status["code"], ", ".join(status["reasons"]))
        for status in node.get("rejections", ())
    ]


def _finding_row(node: str, finding: dict[str, Any]) -> tuple[Any, ...]:
    amounts = finding["amounts"] or {}
    counted = (amounts.get(name) for name in ("asked", "taken", "limit"))
    holders = ", ".join(each["name"] for each in finding["holders"])
    return node, finding["plugin"], finding["code"], finding["subject"], *counted, holders, finding["message"]


def _html_row(name: str, node: dict[str, Any], plugins: list[str]) -> str:
    scores = [str(node["scores"].get(plugin, {}).get("weighted", "")) for plugin in plugins]
    rejected = "; ".join(
        f"{status['plugin']}: {', '.join(status['reasons'])}" for status in node.get("rejections", ())
    )
    total = "" if node["total"] is None else str(node["total"])
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (name, total, *scores, rejected)) + "</tr>"


_DOCUMENT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>:root {{ color-scheme: light dark }} body {{ margin: 8px }}</style>
<mooring-decision></mooring-decision>
<script type="module">{bundle}</script>
<script type="module">
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
Object.assign(document.querySelector("mooring-decision"), {{
  advice: JSON.parse(new TextDecoder().decode(bytes("{advice}"))) ?? undefined,
  columns: bytes("{columns}").buffer,
}});
</script></html>"""  # noqa: E501 - a policy is one line

FRAME_HEIGHT = 760
"""The height of the frame, in pixels of the notebook; people can drag it."""


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A decision as the page shows it, for Jupyter, marimo and whatever else shows HTML.

    It is a document of its own in a frame, which can neither reach the notebook around it nor load anything:
    its script and data are part of it. That is 200 kB in a notebook that is saved.

    Attributes:
        html: The whole document, which can also be written to a file and opened.
    """

    html: str

    @classmethod
    def of(cls, explanation: Explanation, advice: Mapping[str, Any] | None = None) -> DecisionView:
        """Return the view of an explanation, with advice as in ``Decision``."""
        nodes = ExplainedNodes.of(explanation)
        response = to_response(explanation, nodes, objects_pb2.Provenance(profile=explanation.profile))
        columns = _base64(encode(response, {"made": "now"}))
        bundle = (resources.files("mooring.web") / "static" / "page.js").read_text(encoding="utf-8")
        title = escape(f"{explanation.namespace}/{explanation.name}")
        # No text of the cluster's can end the script: base64 has no "<", and the bundle is ours.
        said = _base64(json.dumps(advice).encode())
        return cls(_DOCUMENT.format(title=title, bundle=bundle, columns=columns, advice=said))

    def _repr_html_(self) -> str:
        """Return the frame."""
        style = f"width:100%;height:{FRAME_HEIGHT}px;border:0;resize:vertical;overflow:auto"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
