"""Calls of mooring about nodes, by index where the indices are known.

A question means the names. Indices are a shorthand: if they are stale or rejected, the names are sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import grpc

from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_extender.client import Client
from mooring_extender.failures import CallError, shortened
from mooring_extender.node_table import NodeTable
from mooring_extender.questions import Question

log = logging.getLogger(__name__)

LIST_SECONDS: Final = 5.0

Request = TypeVar("Request", pb.FilterRequest, pb.ScoreRequest)
Response = TypeVar("Response", pb.FilterResponse, pb.ScoreResponse)
Seconds = Callable[[], float]
"""Gives how much time is left; raises CallError when there is none."""


class NodeQueryClient:
    """Makes the calls that are about nodes. For one event loop."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._table = NodeTable()
        self._following: asyncio.Task[None] | None = None

    async def filter(self, request: pb.FilterRequest, asked: Question, seconds: Seconds) -> pb.FilterResponse:
        """Call Filter with ``request`` about the nodes of ``asked``. Raises CallError."""
        return await self._ask(self._client.filter, request, asked, seconds)

    async def score(self, request: pb.ScoreRequest, asked: Question, seconds: Seconds) -> pb.ScoreResponse:
        """Call Score with ``request`` about the nodes of ``asked``. Raises CallError."""
        return await self._ask(self._client.score, request, asked, seconds)

    async def close(self) -> None:
        """Cancel running calls. No call follows."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _ask(
        self,
        method: Callable[[Request, float], Awaitable[Response]],
        request: Request,
        asked: Question,
        seconds: Seconds,
    ) -> Response:
        by_index = self._table.selection(asked.names) if asked.items is None else None
        if by_index is not None:
            request.nodes.MergeFromString(by_index)
            try:
                return self._followed(await method(request, seconds()))
            except CallError as error:
                if error.code not in {grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT}:
                    raise
            request.ClearField("nodes")
        _select(asked, request)
        return self._followed(await method(request, seconds()))

    def _followed(self, response: Response) -> Response:
        """Read the server's nodes in the background, if they have changed."""
        stale = response.HasField("provenance") and response.provenance.node_epoch != self._table.epoch
        if stale and (self._following is None or self._following.done()):
            self._following = asyncio.get_running_loop().create_task(self._follow())
        return response

    async def _follow(self) -> None:
        try:
            self._table.take(await self._client.list_nodes(self._table.request(), LIST_SECONDS))
        except CallError as error:
            log.info(
                "mooring did not list its nodes; calls name nodes meanwhile: %s",
                shortened(error),
            )


def _select(asked: Question, request: pb.FilterRequest | pb.ScoreRequest) -> None:
    """Choose the nodes of a question, in place: passing messages to constructors copies tens of megabytes."""
    if asked.items is None:
        request.nodes.joined_names = asked.names.joined
    else:
        nodes = request.nodes.inline.nodes
        for item in asked.items:
            nodes.add().json = item
