"""Connections that send each request in one write, and ask right before it whether it is still wanted.

A process may stand still at any moment. What it sends in pieces may be half sent then, and what was allowed a
moment earlier may be sent much later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from urllib3 import PoolManager
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool


class GuardedBody(bytes):
    """A body that is sent only if ``before``, called at the last moment, raises nothing."""

    before: Callable[[], None]

    @classmethod
    def of(cls, body: bytes, before: Callable[[], None]) -> GuardedBody:
        """``body``, guarded."""
        made = cls(body)
        made.before = before
        return made


class _InOnePiece(HTTPConnection):
    """Collects what a request sends until it is complete."""

    _pieces: list[Any] | None = None

    def send(self, data: Any) -> None:
        """Keep a piece of the request that is being written; anything else is sent."""
        if self._pieces is None:
            super().send(data)
        else:
            self._pieces.append(data)

    def request(self, method: str, url: str, body: Any = None, *args: Any, **options: Any) -> None:
        """Send the request. What the guard of its body raises is raised, and nothing is sent."""
        self._pieces = []
        try:
            super().request(method, url, body, *args, **options)
            whole = b"".join(self._pieces)
        finally:
            self._pieces = None
        if self.sock is None:
            self.connect()
        if isinstance(body, GuardedBody):
            body.before()
        self.send(whole)


def send_in_one_piece(manager: PoolManager) -> None:
    """Let the connections that ``manager`` makes from now on be such."""
    manager.pool_classes_by_scheme = {
        scheme: _in_one_piece(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _in_one_piece(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    connection = type(pool.ConnectionCls.__name__, (_InOnePiece, pool.ConnectionCls), {})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
