"""Loops over columns, compiled by numba where that is installed: the extra ``fast``.

numpy works through columns operation by operation, a compiled loop goes over them once. A plugin that has
such a loop has the same with numpy as well: for where numba isn't, and for amounts that floats don't hold
exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

FEWEST_ROWS = 1000
"""With fewer, what a loop saves isn't worth the second that compiling takes."""

T = TypeVar("T")


def loop(function: Callable[..., T]) -> Callable[..., T] | None:
    """``function``, compiled when it is called for the first time; None without numba.

    It rounds as numpy does, and other threads run meanwhile.
    """
    if find_spec("numba") is None:
        return None

    @cache
    def compiled() -> Callable[..., T]:
        fast: Any = import_module("numba").njit(function, nogil=True, error_model="numpy")
        return fast  # type: ignore[no-any-return]  # numba has no types

    def call(*arguments: Any) -> T:
        return compiled()(*arguments)

    return call
