"""The adapter with a server, on an event loop of its own, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from mooring.framework.errors import MooringError
from mooring.serving.calls.errors import failure_of
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.failures import CallError
from tests.laboratories.fuzz.judging import Finding
from tests.laboratories.fuzz.serving import METHODS, Served, serving


class DirectClient:
    """Implements ``mooring_extender.client.Client``: each call is answered before it returns.

    Attributes:
        binds: How many Bind calls were made.
        finding: A finding of one of them, until it is read.
    """

    def __init__(self, served: Served) -> None:
        self.served = served
        self.binds = 0
        self.finding: Finding | None = None

    async def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[[Any, float], Coroutine[Any, Any, Any]]:
        part, method = CALLS[name]

        async def call(request: Any, _seconds: float) -> Any:
            self.binds += name == "bind"
            try:
                return self.served.answer(part, method, request)
            except Finding as finding:
                # The adapter must not turn it into an answer.
                self.finding = finding
                raise
            except MooringError as error:
                failure = failure_of(error)
                raise CallError(failure.code, failure.text) from error

        return call

    async def profiles(self, seconds: float) -> Any:
        return await self._plain("plugins", "ListProfiles")

    async def cluster_info(self, seconds: float) -> Any:
        return await self._plain("cluster", "GetClusterInfo")

    async def _plain(self, part: str, method: str) -> Any:
        return self.served.answer(part, method, METHODS[method][1]())


CALLS = {
    "filter": ("scheduling", "Filter"),
    "score": ("scheduling", "Score"),
    "bind": ("scheduling", "Bind"),
    "preempt": ("scheduling", "Preempt"),
    "list_nodes": ("cluster", "ListNodes"),
}
"""Other calls of the adapter, by the client's own names."""


class Adapter:
    """An adapter that is started.

    Attributes:
        app: Its ASGI callable.
        client: The client that it calls.
        loop: Where it lives.
    """

    def __init__(self, served: Served, loop: asyncio.AbstractEventLoop) -> None:
        self.client = DirectClient(served)
        self.app = ExtenderApp(lambda: self.client, Options())
        self.loop = loop

    def raise_finding(self) -> None:
        """Raise what a call came upon."""
        finding, self.client.finding = self.client.finding, None
        if finding is not None:
            raise finding


@contextmanager
def adapting() -> Iterator[Adapter]:
    """Yield an adapter over a server with a state of its own."""
    loop = asyncio.new_event_loop()
    with serving() as served:
        adapter = Adapter(served, loop)
        ended = loop.create_future()
        started = loop.create_future()
        events = iter([{"type": "lifespan.startup"}])

        async def receive() -> dict[str, Any]:
            first = next(events, None)
            return first or await ended

        async def send(_message: Any) -> None:
            if not started.done():
                started.set_result(None)

        life = loop.create_task(adapter.app({"type": "lifespan"}, receive, send))
        loop.run_until_complete(started)
        try:
            yield adapter
        finally:
            ended.set_result({"type": "lifespan.shutdown"})
            loop.run_until_complete(life)
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
