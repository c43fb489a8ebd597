"""The page's component in a notebook: all nodes and plugins of one decision, with weights to play with."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

import numpy as np

from mooring.framework import Int32s
from mooring.runtime.answers import Explanation
from mooring.service.wire.explanation import to_response
from mooring.v1 import nodes_pb2, objects_pb2
from mooring.web.columns import encode

_DOCUMENT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>:root {{ color-scheme: light dark }} body {{ margin: 8px }}</style>
<mooring-decision></mooring-decision>
<script type="module">{bundle}</script>
<script type="module">
document.querySelector("mooring-decision").columns =
  Uint8Array.from(atob("{columns}"), (letter) => letter.charCodeAt(0)).buffer;
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
    def of(cls, explanation: Explanation) -> DecisionView:
        """Return the view of an explanation."""
        listed = _Listed(explanation.nodes)
        response = to_response(explanation, listed, objects_pb2.Provenance(profile=explanation.profile))
        columns = base64.b64encode(encode(response, {"made": "now"})).decode()
        bundle = (resources.files("mooring.web") / "static" / "page.js").read_text(encoding="utf-8")
        title = escape(f"{explanation.namespace}/{explanation.name}")
        # No text of the cluster's can end the script: base64 has no "<", and the bundle is ours.
        return cls(_DOCUMENT.format(title=title, bundle=bundle, columns=columns))

    def _repr_html_(self) -> str:
        """Return the frame."""
        style = f"width:100%;height:{FRAME_HEIGHT}px;border:0;resize:vertical;overflow:auto"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


class _Listed:
    """The nodes of an explanation, by their names, all known; as ``ListedNodes`` says."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rows: Int32s = np.arange(len(names), dtype=np.int32)
        self.nodes: nodes_pb2.NodeList | None = self.node_list(names, self.rows)

    def node_list(self, names: Sequence[str], rows: Int32s) -> nodes_pb2.NodeList:
        """Return the nodes of these names."""
        return nodes_pb2.NodeList(names=nodes_pb2.NodeNames(names=names))
