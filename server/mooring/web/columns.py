"""An explanation as columns: a small JSON header, and arrays that the browser uses as they are.

The bytes are the length of the header (uint32), the header, zeros up to a multiple of 8, then the arrays.
All numbers are little-endian. The header describes the arrays under ``arrays``, a list of ``{"name", "dtype",
"shape", "offset"}``. The dtype is the smallest for the values: int8, uint8, int16, uint16, int32, uint32 or
float64. The offset is a multiple of 8, counted from the first byte after the zeros. Numbers beyond 2**53
are rounded. With N nodes, S of them scored:

- ``verdicts`` [N]: an index into ``distinct`` each.
- ``scored`` [S]: positions of nodes, ascending; ``totals`` [S]; per plugin number P ``raw.P`` and
  ``normalized.P`` [S].
- ``ties``: positions of the nodes with the highest total, the selected one included.
- ``rejections.nodes`` and ``rejections.verdicts``: each rejection, by position of the node, ascending, and
  index into ``distinct``; both are empty where only the first rejection of each node is known.
- ``findings.nodes`` and ``findings.indices``: each finding about a node, by position, ascending, and index
  into ``findings`` of the header; both are empty in explanations that were kept since the decision.
- ``free.R`` [N] per resource number R: what each node has left, CPU in thousandths; [0] if no node offers it.

The rest of the header:

- ``made``: "kept", "again" or "now"; ``agrees`` and ``differences`` for "again".
- ``decision`` (absent for "now"), ``pod``, ``provenance``, ``verdict``, ``prefilter`` and ``distinct`` (the
  first is success): the contract's JSON.
- ``nodes``: names; ``plugins``: [{"name", "weight"}]; ``weightSum``; ``resources``: [{"name", "requested"}].
- ``selected``: a position, absent without one; ``assigned``: the node that the pod is on already, "" = none.
- ``findings`` and ``podFindings``: about nodes, and about the pod as a whole; the contract's JSON.
- ``preemptionFindings``: why preemption does not help, likewise, each with ``nodes``, the number of nodes
  (0 = whatever the node).
- ``evaluated``, ``feasible``, ``seed`` (a string), ``warnings``.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from google.protobuf.json_format import MessageToDict
from numpy.typing import NDArray

from mooring.service.wire.node_names import listed_names
from mooring_client.v1.findings_pb2 import Findings
from mooring_client.v1.scheduling_service_pb2 import ExplainResponse

ALIGNMENT: Final = 8

_DTYPES: Final = tuple(np.dtype(name) for name in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4"))


def encode(explanation: ExplainResponse, header: Mapping[str, Any]) -> bytes:
    """Return the bytes of an explanation, with more entries for its header."""
    entries, parts, offset = [], [], 0
    for name, column in _columns(explanation):
        data = _smallest(column)
        entries.append({"name": name, "dtype": data.dtype.name, "shape": list(data.shape), "offset": offset})
        parts.append(data.tobytes() + bytes(-data.nbytes % ALIGNMENT))
        offset += len(parts[-1])
    document = {**header, **_header(explanation), "arrays": entries}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    head = struct.pack("<I", len(text)) + text
    return b"".join((head, bytes(-len(head) % ALIGNMENT), *parts))


def _header(explanation: ExplainResponse) -> dict[str, Any]:
    found = {
        "pod": MessageToDict(explanation.pod),
        "provenance": MessageToDict(explanation.provenance),
        "verdict": MessageToDict(explanation.verdict),
        "prefilter": [MessageToDict(verdict) for verdict in explanation.prefilter],
        "distinct": [MessageToDict(verdict) for verdict in explanation.verdicts.distinct],
        "nodes": listed_names(explanation.nodes),
        "plugins": [{"name": one.plugin, "weight": one.weight} for one in explanation.plugins],
        "weightSum": explanation.weight_sum,
        "resources": [{"name": one.name, "requested": one.requested} for one in explanation.resources],
        "assigned": explanation.assigned_node,
        "evaluated": explanation.evaluated_count,
        "feasible": explanation.feasible_count,
        "seed": str(explanation.seed),
        "warnings": list(explanation.warnings),
        "findings": [MessageToDict(finding) for finding in explanation.findings.distinct],
        "podFindings": [MessageToDict(finding) for finding in explanation.findings.of_pod],
        "preemptionFindings": _of_preemption(explanation.preemption_findings),
    }
    if explanation.HasField("selected_position"):
        found["selected"] = explanation.selected_position
    return found


def _of_preemption(findings: Findings) -> list[dict[str, Any]]:
    counts = Counter(findings.indices)
    of_nodes = [(finding, counts[at]) for at, finding in enumerate(findings.distinct)]
    of_nodes.sort(key=lambda each: -each[1])
    every = [*((finding, 0) for finding in findings.of_pod), *of_nodes]
    return [{**MessageToDict(finding), "nodes": count} for finding, count in every]


def _columns(explanation: ExplainResponse) -> Iterator[tuple[str, Any]]:
    # No verdicts at all mean that every node is feasible.
    count = len(listed_names(explanation.nodes))
    yield "verdicts", explanation.verdicts.node_verdicts or np.zeros(count, np.int64)
    yield "scored", explanation.scored_positions
    yield "totals", explanation.totals
    yield "ties", explanation.tie_positions
    yield "rejections.nodes", explanation.rejections.node_positions
    yield "rejections.verdicts", explanation.rejections.verdicts
    yield "findings.nodes", explanation.findings.node_positions
    yield "findings.indices", explanation.findings.indices
    for number, plugin in enumerate(explanation.plugins):
        yield f"raw.{number}", plugin.raw
        yield f"normalized.{number}", plugin.normalized
    for number, resource in enumerate(explanation.resources):
        yield f"free.{number}", resource.free


def _smallest(column: Any) -> NDArray[Any]:
    """Return a column in the smallest type that has all of its values."""
    values = np.array(column, np.int64)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for dtype in _DTYPES:
        info = np.iinfo(dtype)
        if info.min <= low and high <= info.max:
            return values.astype(dtype)
    return values.astype("<f8")
