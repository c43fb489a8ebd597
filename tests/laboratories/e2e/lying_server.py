"""A server with canned answers, whose Schedule may contradict the rest: the example clients must notice."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

import grpc
from google.protobuf.message import Message

from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1 import verdicts_pb2 as said

Method: TypeAlias = Callable[[bytes, grpc.ServicerContext], bytes]

_NAMES = ("n1", "n2")
_SCORES = (10, 20)


@contextmanager
def lying_server(node: str, total: int, ties: Sequence[str]) -> Iterator[str]:
    """Serve two nodes with the scores 10 and 20, and a Schedule with the given answer. Yield the address."""
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        method: grpc.unary_unary_rpc_method_handler(_always(answer))
        for method, answer in _answers(node, total, ties).items()
    }
    with ThreadPoolExecutor(max_workers=2) as pool:
        server = grpc.server(pool)
        service = "mooring.v1.SchedulingService"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(grace=None).wait()


def _always(answer: Message) -> Method:
    def answered(_request: bytes, _context: grpc.ServicerContext) -> bytes:
        return answer.SerializeToString()

    return answered


def _answers(node: str, total: int, ties: Sequence[str]) -> dict[str, Message]:
    success = said.Verdict(code=said.VERDICT_CODE_SUCCESS)
    verdicts = said.NodeVerdicts(distinct=[success])
    raw = said.PluginScores(plugin="Fake", raw=_SCORES)
    weighted = said.PluginScores(plugin="Fake", weighted=_SCORES)
    return {
        "Filter": scheduling.FilterResponse(nodes=_named(*_NAMES), verdicts=verdicts),
        "Score": scheduling.ScoreResponse(plugins=[raw]),
        "NormalizeScore": scheduling.NormalizeScoreResponse(plugins=[weighted]),
        "Schedule": scheduling.ScheduleResponse(
            nodes=_named(node), verdicts=[success], pod_verdicts=[0], totals=[total], ties=[_named(*ties)]
        ),
        "Bind": scheduling.BindResponse(outcome=scheduling.COMMIT_OUTCOME_LOCAL),
    }


def _named(*names: str) -> nodes.NodeList:
    return nodes.NodeList(names=nodes.NodeNames(names=names))
