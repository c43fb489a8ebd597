"""Loops over columns, compiled by numba where that is installed: the extra ``fast``.

numpy works through columns operation by operation, a compiled loop goes over them once. A plugin that has
such a loop has the same with numpy as well: for where numba isn't, for the seconds until the compiler has
ended, and for amounts that floats don't hold exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from mooring.framework import NodeView

FEWEST_NODES = 1000
"""For smaller clusters, what a loop saves isn't worth the second that compiling takes."""

FEWEST_CALLS = 8
"""Nor for a process that asks only once, as ``mooring explain`` does."""

T = TypeVar("T")

log = logging.getLogger(__name__)

_compiler = ThreadPoolExecutor(1, "compiler")
_loops: WeakSet[Loop[Any]] = WeakSet()


class Loop(Generic[T]):
    """A function that numba may compile. It rounds as numpy does, and other threads run meanwhile.

    Decisions don't wait for the compiler: for kube-scheduler a second is too long. Safe from any thread.

    Args:
        types: Those of its arguments, as numba spells them.
    """

    def __init__(self, types: str, function: Callable[..., T]) -> None:
        self._types = types
        self._function = function
        self._calls = 0
        self._compiled: Callable[..., T] | None = None
        self._compiling: Future[None] | None = None

    def over(self, nodes: NodeView) -> Callable[..., T] | None:
        """Return the function once it is compiled; None without numba and without ``nodes``.

        Calls about a small cluster don't have it compiled.
        """
        return self.for_rows(len(nodes.rows), len(nodes.snapshot.nodes.alive))

    def for_rows(self, count: int, of: int = 0) -> Callable[..., T] | None:
        """As ``over``, for ``count`` rows, ``of`` so many."""
        compiled = self._compiled
        if compiled is not None and count:
            return compiled
        if not count or max(count, of) < FEWEST_NODES:
            return None
        if self._compiling is None:
            self._calls += 1
            if self._calls >= FEWEST_CALLS:
                self.begin_compiling()
        return None

    def begin_compiling(self) -> None:
        """Have it compiled in the compiler's thread, unless that was asked for before."""
        if self._compiling is None:
            # Two threads may come here at once; then it is compiled twice.
            self._compiling = _compiler.submit(self._compile)

    def _compile(self) -> None:
        if find_spec("numba") is None:
            return
        try:
            numba: Any = import_module("numba")
        except ImportError as error:
            log.warning("numba can't be used, so numpy is: %s", error)
            return
        compiled = numba.njit(self._function, nogil=True, error_model="numpy")
        compiled.compile(self._types)
        self._compiled = compiled


def loop(types: str) -> Callable[[Callable[..., T]], Loop[T]]:
    """Make the function below a ``Loop`` over arguments of these types."""

    def made(function: Callable[..., T]) -> Loop[T]:
        _loops.add(found := Loop(types, function))
        return found

    return made


def compile_ahead(nodes: int) -> None:
    """Compile all loops that are of use for a cluster with this number of nodes, and wait until it is done.

    For a process that decides all day: while the compiler works it holds the interpreter's lock for most of
    the time, so that for two seconds everything else takes several times as long.
    """
    if nodes >= FEWEST_NODES:
        for found in tuple(_loops):
            found.begin_compiling()
        wait_for_compiler()


def wait_for_compiler() -> None:
    """Return when all that was called often enough is compiled: for tests and benchmarks."""
    _compiler.submit(lambda: None).result()
