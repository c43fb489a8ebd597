"""A running server or scheduler, and its memory: lives of pods, the last hours, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from mooring.lab.frames import TIME, AnswerTable
from mooring_client.errors import failure_of
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub

DEFAULT_ADDRESS = "127.0.0.1:50051"
CALL_SECONDS = 30.0


class RunningServer:
    """A running server or scheduler. Safe from any thread.

    Args:
        address: Its gRPC address, HOST:PORT or unix:PATH, in plain text.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS) -> None:
        self._address = address

    def history(self, pod: str) -> AnswerTable:
        """Return the life of a pod: created, gated, woken, tried, rejected, placed, and what it waits for.

        Columns: ``time``, ``what``, ``why`` and ``decision`` (0 = none).

        Args:
            pod: "namespace/name", or a name in the namespace ``default``.

        Raises:
            CallFailedError: The server does not answer, or remembers no decisions.
        """
        namespace, _, name = pod.rpartition("/")
        request = pb.GetPodHistoryRequest(namespace=namespace or "default", name=name)
        with self._asking() as stub:
            found = stub.GetPodHistory(request, timeout=CALL_SECONDS)
        kinds = {
            kind: name.removeprefix("POD_MOMENT_KIND_").lower() for name, kind in pb.PodMomentKind.items()
        }
        rows = [(each.time.ToNanoseconds(), kinds[each.kind], each.text, each.seq) for each in found.moments]
        last = f"{pod}: {rows[-1][1]} {rows[-1][2]}".rstrip() if rows else f"nothing is known of {pod}"
        dtypes = {"time": TIME, "what": "str", "why": "str", "decision": "int64"}
        return AnswerTable.of(last, dtypes, rows)

    def time_line(self, hours: float = 1.0, spans: int = 60, *, namespace: str = "") -> AnswerTable:
        """Return the last hours in spans of equal length.

        Columns: ``begin``, ``decisions`` and ``placed`` (their numbers), ``p50`` and ``p99`` (how many
        seconds a decision took), ``pending`` (pods without a node at the end), and ``cause``, that of most.

        Args:
            hours: How far back, up to 720.
            spans: The number of spans, 1 to 1,000.
            namespace: Pods of this namespace; "" = all.

        Raises:
            CallFailedError: The server does not answer, remembers no decisions, or rejects the arguments.
        """
        request = pb.GetTimeLineRequest(span_count=spans, namespace=namespace)
        request.window.FromNanoseconds(int(hours * 3.6e12))
        with self._asking() as stub:
            found = stub.GetTimeLine(request, timeout=CALL_SECONDS).spans
        rows = list(map(_span_row, found))
        decided, pending = sum(row[1] for row in rows), rows[-1][5] if rows else 0
        dtypes = {"begin": TIME, "decisions": "int64", "placed": "int64", "p50": "float64", "p99": "float64"}
        said = f"{decided} decisions in {hours:g} h, {pending} pods are pending"
        return AnswerTable.of(said, {**dtypes, "pending": "int64", "cause": "str"}, rows)

    def decisions(self, pod: str = "", *, limit: int = 100) -> AnswerTable:
        """Return the newest decisions, the oldest of them first.

        Columns: ``decision``, ``time``, ``pod``, ``result``, ``node``, ``nominated`` (the node on which room
        is made), ``victims``, ``configuration`` and ``message``.

        Args:
            pod: Only those about "namespace/name", or a name in the namespace ``default``; "" = all.
            limit: At most this many, 1 to 1,000.

        Raises:
            CallFailedError: The server does not answer, or remembers no decisions.
        """
        namespace, _, name = pod.rpartition("/")
        where = pb.DecisionFilter(namespace=namespace or ("default" if pod else ""), pod=name)
        with self._asking() as stub:
            request = pb.ListDecisionsRequest(filter=where, limit=limit)
            found = stub.ListDecisions(request, timeout=CALL_SECONDS).decisions
        dtypes = {"decision": "int64", "time": TIME}
        texts = ("pod", "result", "node", "nominated", "victims", "configuration", "message")
        said = f"{len(found)} decisions"
        return AnswerTable.of(
            said, {**dtypes, **dict.fromkeys(texts, "str")}, list(map(_decision_row, found))
        )

    @contextmanager
    def _asking(self) -> Iterator[DecisionServiceStub]:
        """Open a channel for one question.

        Raises:
            CallFailedError: The server rejects the call, or does not answer.
        """
        with grpc.insecure_channel(self._address, options=(("grpc.enable_http_proxy", 0),)) as channel:
            try:
                yield DecisionServiceStub(channel)
            except grpc.RpcError as error:
                raise failure_of(error) from None

    def __repr__(self) -> str:
        return f"the server at {self._address}"


def _span_row(span: pb.TimeSpan) -> tuple[Any, ...]:
    p50 = span.duration_p50.ToNanoseconds() / 1e9 if span.HasField("duration_p50") else None
    p99 = span.duration_p99.ToNanoseconds() / 1e9 if span.HasField("duration_p99") else None
    first = next(iter(span.causes), None)
    cause = f"{first.plugin}: {first.reason}".removeprefix(": ") if first is not None else ""
    counts = span.decision_count, span.placed_count
    return span.begin_time.ToNanoseconds(), *counts, p50, p99, span.pending_count, cause


def _decision_row(decision: pb.Decision) -> tuple[Any, ...]:
    return (
        decision.seq,
        decision.time.ToNanoseconds(),
        f"{decision.pod.namespace}/{decision.pod.name}",
        pb.DecisionResult.Name(decision.result).removeprefix("DECISION_RESULT_").lower(),
        decision.node,
        decision.nominated_node,
        ", ".join(decision.victims),
        decision.provenance.configuration_hash,
        decision.verdict.message,
    )
