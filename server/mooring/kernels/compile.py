"""Loops over columns, compiled by numba if the extra ``fast`` is installed.

numpy works through columns operation by operation, a compiled loop goes over them once. Each has
a twin for numpy: for processes without numba, for the seconds until the compiler has ended, and for amounts
that floats don't hold exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

FEWEST_NODES = 1000
"""For smaller clusters, what a loop saves isn't worth the second that compiling takes."""

FEWEST_CALLS = 8
"""Nor for a process that asks only once, as ``mooring explain`` does."""

T = TypeVar("T")

log = logging.getLogger(__name__)

_OPTIONS = {"error_model": "numpy", "nogil": False}
"""How loops are compiled: so that they round as numpy does, and keep the interpreter's lock."""

_compiler = ThreadPoolExecutor(1, "compiler")
_loops: WeakSet[Loop[Any]] = WeakSet()


class Loop(Generic[T]):
    """A function that numba may compile. It rounds as numpy does.

    It keeps the interpreter's lock: most loops end sooner than a thread that gives it up gets it back.

    It may call other loops, which are globals where it is defined.

    Decisions don't wait for the compiler: for kube-scheduler a second is too long. Compiled loops are kept on
    disk, so that the next process has them at once. Safe from any thread.

    Args:
        types: The types of its arguments, as numba spells them; one string for each set of them.

    Attributes:
        pays: Whether loops may be compiled at all.
    """

    pays: ClassVar[bool] = True

    def __init__(self, types: Sequence[str], function: Callable[..., T]) -> None:
        self._types = types
        self._function = function
        self._calls = 0
        self._compiled: Callable[..., T] | None = None
        self._compiling: Future[object] | None = None

    def __call__(self, *args: Any) -> T:
        """Run it as it is written; a compiled loop that calls it runs it compiled."""
        return self._function(*args)

    def for_rows(self, count: int, of: int = 0) -> Callable[..., T] | None:
        """Return the function once it is compiled, for ``count`` rows of a cluster with ``of`` nodes.

        None without numba and without rows. Calls about a small cluster don't have it compiled.
        """
        compiled = self._compiled
        if compiled is not None and count:
            return compiled
        if not count or max(count, of) < FEWEST_NODES or not self.pays:
            return None
        if self._compiling is None:
            self._calls += 1
            if self._calls >= FEWEST_CALLS:
                self.begin_compiling()
        return None

    def begin_compiling(self) -> None:
        """Have it compiled in the compiler's thread, unless it is or was."""
        if self._compiling is None:
            # Two threads may come here at once; then it is compiled twice.
            self._compiling = _compiler.submit(self.compile)
            self._compiling.add_done_callback(self._tell_failure)

    def _tell_failure(self, compiling: Future[object]) -> None:
        error = compiling.exception()
        if error is not None:
            log.warning("%s can't be compiled, so numpy is used: %s", self._function.__qualname__, error)

    def compile(self) -> Callable[..., T] | None:
        """Compile it in this thread, unless it is, and return it; None if numba can't be used."""
        if self._compiled is not None or find_spec("numba") is None:
            return self._compiled
        try:
            numba: Any = import_module("numba")
        except ImportError as error:
            log.warning("numba can't be used, so numpy is: %s", error)
            return None
        compiled = numba.njit(self._with_loops(), **_OPTIONS)
        built = import_module("mooring.kernels.built").built_cache(compiled.py_func)
        try:
            if built is not None:
                compiled._cache = built  # noqa: SLF001  # numba has no other way in
            else:
                compiled.enable_caching()
        except RuntimeError:
            log.info("no folder to keep compiled loops in: each process compiles them again")
        for types in self._types:
            compiled.compile(types)
        self._compiled = compiled
        return self._compiled

    def _with_loops(self) -> Callable[..., T]:
        """Return the function with the compiled form of each loop that it calls.

        Its name stands for all that it is compiled from, and how, since numba keeps compiled functions by
        their name and looks only whether their own file changed.
        """
        function = self._function
        if not isinstance(function, FunctionType):
            return function
        code, known = function.__code__, function.__globals__
        called = {name: known[name].compile() for name in code.co_names if isinstance(known.get(name), Loop)}
        made = FunctionType(code, known | called, function.__name__)
        digest = sha256(repr((_OPTIONS, _parts(function))).encode()).hexdigest()
        made.__qualname__ = f"{function.__qualname__}_{digest[:16]}"
        return made


def _parts(function: Callable[..., object]) -> list[object]:
    """Return all that decides what a function is compiled to: its code, the loops it calls, the constants."""
    if not isinstance(function, FunctionType):
        return [function]
    code, known = function.__code__, function.__globals__
    read = [known[name] for name in code.co_names if name in known]
    values = [_parts(value._function) if isinstance(value, Loop) else value for value in read]  # noqa: SLF001
    return [code.co_code, code.co_consts, code.co_names, values]


def loop(*types: str) -> Callable[[Callable[..., T]], Loop[T]]:
    """Make the function below a ``Loop`` over arguments of these types."""

    def made(function: Callable[..., T]) -> Loop[T]:
        _loops.add(found := Loop(types, function))
        return found

    return made


def begin_compiling(nodes: int) -> None:
    """Let the compiler's thread compile all loops, if they are of use for this number of nodes."""
    if nodes >= FEWEST_NODES:
        for found in tuple(_loops):
            found.begin_compiling()


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Have no more loops compiled during the block: for work that ends before the compiler would."""
    Loop.pays = False
    try:
        yield
    finally:
        Loop.pays = True


def compile_ahead(nodes: int) -> None:
    """Do what ``begin_compiling`` does and wait until it is done: for benchmarks, and to build an image."""
    begin_compiling(nodes)
    wait_for_compiler()


def wait_for_compiler() -> None:
    """Return when all that was called often enough is compiled: for tests and benchmarks."""
    _compiler.submit(lambda: None).result()
