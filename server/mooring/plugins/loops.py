"""Loops over columns, compiled by numba where that is installed: the extra ``fast``.

numpy works through columns operation by operation, a compiled loop goes over them once. A plugin that has
such a loop has the same with numpy as well: for where numba isn't, and for amounts that floats don't hold
exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from mooring.framework import NodeView

FEWEST_NODES = 1000
"""For fewer, what a loop saves isn't worth the second that compiling takes."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class Loop(Generic[T]):
    """A function that numba may compile. It rounds as numpy does, and other threads run meanwhile."""

    def __init__(self, function: Callable[..., T]) -> None:
        self._function = function

    def over(self, nodes: NodeView) -> Callable[..., T] | None:
        """The compiled function; None without numba, without ``nodes``, and in a small cluster.

        A caller waits for the compiler only with many nodes; with few, what is compiled by then is used.
        """
        count = len(nodes.rows)
        if count >= FEWEST_NODES:
            return self._compiled
        known: Callable[..., T] | None = self.__dict__.get("_compiled")
        return known if count and len(nodes.snapshot.nodes.alive) >= FEWEST_NODES else None

    @cached_property
    def _compiled(self) -> Callable[..., T] | None:
        if find_spec("numba") is None:
            return None
        try:
            numba: Any = import_module("numba")
        except ImportError as error:
            log.warning("numba can't be used, so numpy is: %s", error)
            return None
        compiled: Callable[..., T] = numba.njit(self._function, nogil=True, error_model="numpy")
        return compiled
