"""Threads that take turns as a seed says: each interleaving can be played again.

They are greenlets of one thread, so that a turn costs a microsecond and no other thread can come between. One
may lose its turn at every operation of a lock, condition or event, and at every call of a function in the
rooms in question. Waits with a limit end when nothing else can happen; then the time moves on to that moment.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]  # ships no types

from mooring.framework.deadline import RUNNING
from mooring.framework.node_table import NodeTable
from mooring.framework.pod_classes import PodClasses

ROOMS = ("cluster", "runtime", "scheduler", "framework")

SWITCHES = (0.01, 0.05, 0.2, 0.6)
"""How likely a thread loses its turn; a run has one of these: some races take many turns, and some few."""


class DeadlockError(AssertionError):
    """No thread can go on."""


class Thread:
    """As ``threading.Thread``; it can start only within a run.

    Attributes:
        name: Its name.
        daemon: The run does not wait for it.
        ready: Whether it can go on; None = it waits for nothing.
        until: When its wait ends anyway.
        fiber: Its greenlet; None = it has not started.
    """

    def __init__(
        self,
        target: Callable[..., object],
        name: str = "",
        args: Iterable[Any] = (),
        daemon: bool = False,
        **_: Any,
    ) -> None:
        self.name = name or "thread"
        self.daemon = daemon
        self.ready: Callable[[], bool] | None = None
        self.until = math.inf
        self.fiber: greenlet | None = None
        self._target, self._args = target, args

    def start(self) -> None:
        """Take turns from now on."""
        if Turns.active is None:
            raise DeadlockError(f"thread {self.name} starts outside a run")
        Turns.active.begin(self)

    def work(self) -> None:
        """Do what it is there for."""
        vars(RUNNING).clear()
        self._target(*self._args)

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self.fiber is not None and not self.fiber.dead

    def end(self) -> None:
        """Let it end now."""
        if self.fiber is not None:
            self.fiber.throw()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        _block(lambda: not self.is_alive(), timeout)


class Turns:
    """One run.

    Attributes:
        now: The time, in seconds.
        switches: How often another thread got the turn.
    """

    active: Turns | None = None

    def __init__(self, seed: object) -> None:
        self.now = 1_000.0
        self.switches = 0
        self.dice = Random(f"turns/{seed}")
        self._switch = math.log1p(-self.dice.choice(SWITCHES))
        self._left = self._points()
        self._threads: list[Thread] = []
        self._home = getcurrent()
        self.current: Thread | None = None

    def run(
        self, calls: Sequence[Callable[[], object]], daemons: Sequence[Callable[[], object]] = ()
    ) -> None:
        """Run the calls, each in a thread, until all but the daemons have ended.

        Raises:
            BaseException: The first that one of them raised.
            DeadlockError: All wait for each other.
        """
        Turns.active, self._home = self, getcurrent()
        try:
            for number, call in enumerate((*calls, *daemons)):
                Thread(call, f"call-{number}", daemon=number >= len(calls)).start()
            while any(not thread.daemon for thread in self._threads):
                following = self._following()
                if following is None:
                    raise DeadlockError(f"all wait: {[one.name for one in self._threads]}")
                self._give(following)
                # Only a thread that ends, or a deadlock, leads back here.
                self._threads = [thread for thread in self._threads if thread.is_alive()]
        finally:
            Turns.active = None
            for thread in self._threads:
                with suppress(Exception):
                    thread.end()

    def begin(self, thread: Thread) -> None:
        """Add a thread."""
        thread.fiber = greenlet(thread.work, self._home)
        self._threads.append(thread)

    def point(self) -> None:
        """Lose the turn, maybe."""
        self._left -= 1
        if self._left < 0 and self.current is not None:
            self._left = self._points()
            self._pass(self.current)

    def _points(self) -> int:
        """Return how many points pass until a turn is lost: a draw for each would take half the time."""
        return int(math.log1p(-self.dice.random()) / self._switch)

    def block(self, ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until ``ready()``, for at most ``seconds`` seconds; return whether it is."""
        thread = self.current
        if thread is None:
            if ready():
                return True
            raise DeadlockError("a thread outside the run would wait")
        thread.ready, thread.until = ready, math.inf if seconds is None else self.now + seconds
        self._pass(thread)
        thread.ready, thread.until = None, math.inf
        return ready()

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.block(lambda: False, seconds)

    def _pass(self, thread: Thread) -> None:
        following = self._following()
        if following is not thread:
            # A greenlet has no thread-local values of its own.
            own = vars(RUNNING).copy()
            self._give(following)
            vars(RUNNING).clear()
            vars(RUNNING).update(own)

    def _give(self, following: Thread | None) -> None:
        """Give the turn away until it comes back; None = to ``run``, since all wait."""
        self.current = following
        self.switches += 1
        fiber = self._home if following is None else following.fiber
        assert fiber is not None
        fiber.switch()

    def _following(self) -> Thread | None:
        """Return a thread that can go on, which may be the present one; None = there is none."""
        can = [one for one in self._threads if one.ready is None or one.ready()]
        if can:
            return self.dice.choice(can) if len(can) > 1 else can[0]
        first = min(self._threads, key=lambda one: one.until, default=None)
        if first is None or first.until == math.inf:
            return None
        self.now = max(self.now, first.until)
        return first


def _point() -> None:
    if Turns.active is not None:
        Turns.active.point()


def _block(ready: Callable[[], bool], seconds: float | None = None) -> bool:
    if Turns.active is not None:
        return Turns.active.block(ready, seconds)
    if ready() or seconds is not None:
        return ready()
    raise DeadlockError("a thread outside a run would wait")


class Lock:
    """As ``threading.Lock``."""

    def __init__(self) -> None:
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it."""
        _point()
        if self._held and not (blocking and _block(lambda: not self._held, None if timeout < 0 else timeout)):
            return False
        self._held = True
        return True

    def release(self) -> None:
        """Let it go."""
        self._held = False
        _point()

    def locked(self) -> bool:
        """Return whether a thread has it."""
        return self._held

    def save(self) -> int:
        """Let it go for a wait."""
        self._held = False
        return 1

    def take_again(self, _: int) -> None:
        """Take it after a wait."""
        self._held = True

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """As ``threading.RLock``."""

    def __init__(self) -> None:
        super().__init__()
        self._owner: greenlet | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = getcurrent()
        if self._held and self._owner is me:
            self._depth += 1
            return True
        if not super().acquire(blocking, timeout):
            return False
        self._owner, self._depth = me, 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            super().release()

    def save(self) -> int:
        depth, self._depth, self._owner = self._depth, 0, None
        super().save()
        return depth

    def take_again(self, depth: int) -> None:
        self._held, self._owner, self._depth = True, getcurrent(), depth

    def _is_owned(self) -> bool:
        return self._held and self._owner is getcurrent()


class Condition:
    """As ``threading.Condition``."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiting: list[list[bool]] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def wait(self, timeout: float | None = None) -> bool:
        """Wait to be notified."""
        told = [False]
        self._waiting.append(told)
        depth = self._lock.save()
        _block(lambda: told[0] and not self._lock.locked(), timeout)
        if told in self._waiting:
            self._waiting.remove(told)
        _block(lambda: not self._lock.locked())
        self._lock.take_again(depth)
        return told[0]

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until something is so."""
        while not predicate():
            if not self.wait(timeout) and timeout is not None:
                return predicate()
        return True

    def notify(self, n: int = 1) -> None:
        """Wake some."""
        for told in self._waiting[:n]:
            told[0] = True
        del self._waiting[:n]

    def notify_all(self) -> None:
        """Wake all."""
        self.notify(len(self._waiting))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Event:
    """As ``threading.Event``."""

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        """Return whether it happened."""
        _point()
        return self._set

    def set(self) -> None:
        """It happens."""
        self._set = True
        _point()

    def clear(self) -> None:
        """It has not happened."""
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for it."""
        return _block(lambda: self._set, timeout)


class Future:
    """As much of ``concurrent.futures.Future`` as the scheduler uses."""

    def __init__(self) -> None:
        self._done = False
        self._found: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], object]] = []

    def work(self, call: Callable[[], Any]) -> None:
        """Keep what a call returns or raises."""
        try:
            self._found = call()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
        self._done = True
        for callback in self._callbacks:
            callback(self)

    def done(self) -> bool:
        """Return whether it has ended."""
        return self._done

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call's result, and return it."""
        if not _block(lambda: self._done, timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._found

    def add_done_callback(self, callback: Callable[[Future], object]) -> None:
        """Call it at the end."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)


class Pool:
    """As much of ``ThreadPoolExecutor`` as the scheduler uses: each call has a thread that takes turns.

    A pool of one thread makes its calls in their order, as the real one does.
    """

    def __init__(self, max_workers: int = 1, **_: object) -> None:
        self._ordered = max_workers == 1
        self._last: Future | None = None
        self._threads: list[Thread] = []

    def submit(self, call: Callable[..., object], *args: Any, **fields: Any) -> Future:
        """Call it in another thread."""
        future, before = Future(), self._last if self._ordered else None

        def work() -> None:
            if before is not None:
                _block(before.done)
            future.work(lambda: call(*args, **fields))

        self._last = future
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(Thread(work, "pool", daemon=True))
        self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, **_: object) -> None:
        """Wait for all."""
        for thread in self._threads if wait else ():
            thread.join()


SHIM = SimpleNamespace(
    Lock=Lock,
    RLock=RLock,
    Condition=Condition,
    Event=Event,
    Thread=Thread,
    current_thread=lambda: Turns.active and Turns.active.current,
    get_ident=lambda: id(getcurrent()),
)


@contextmanager
def taking_turns(*more: str) -> Iterator[None]:
    """Give objects that are made in the block the locks of this module; ``more`` are modules besides
    mooring's rooms. Plugins have locks, too, and call what takes turns while they hold one.
    """
    prefixes = tuple(f"mooring.{room}" for room in (*ROOMS, "plugins"))
    loaded = [(name, one) for name, one in list(sys.modules.items()) if name.startswith("mooring.")]
    modules = [one for name, one in loaded if name.startswith(prefixes)] + [
        sys.modules[name] for name in more
    ]
    real: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        real.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    for module in modules:
        if getattr(module, "threading", None) is threading:
            put(module, "threading", SHIM)
        if hasattr(module, "ThreadPoolExecutor"):
            put(module, "ThreadPoolExecutor", Pool)
    for kept in _kept_properties(one for _, one in loaded):
        put(kept, "lock", RLock())
    for owner in (NodeTable, PodClasses):
        put(owner, "__init__", _with_own_lock(owner.__init__))
    for function, code in calling_turns():
        put(function, "__code__", code)
    try:
        yield
    finally:
        for owner, name, value in reversed(real):
            setattr(owner, name, value)


def _kept_properties(modules: Iterable[Any]) -> Iterator[Any]:
    """Yield every ``cached_property``: before Python 3.12 each has a lock, for all objects of its class."""
    classes = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    for owner in classes:
        yield from (
            one for one in vars(owner).values() if isinstance(one, cached_property) and hasattr(one, "lock")
        )


_REAL_LOCK = type(threading.RLock())


def _with_own_lock(begin: Callable[..., None]) -> Callable[..., None]:
    """Dataclasses keep the function that makes their lock."""

    def made(self: Any, *args: Any, **fields: Any) -> None:
        begin(self, *args, **fields)
        if isinstance(self.lock, _REAL_LOCK):
            object.__setattr__(self, "lock", RLock())

    return made


@cache
def calling_turns() -> list[tuple[FunctionType, CodeType]]:
    """Return each function of the rooms, and its code with a turn at its beginning.

    A profiler would slow down all code to a third.
    """
    setattr(builtins, _TURN, _point)
    prefixes = tuple(f"mooring.{room}." for room in ROOMS)
    found: list[tuple[FunctionType, CodeType]] = []
    for name, module in sorted(sys.modules.items()):
        if name.startswith(prefixes) and module.__file__:
            codes = dict(_codes_in(_with_turns(Path(module.__file__))))
            for function in _functions_of(module):
                code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
                if code is not None and code.co_freevars == function.__code__.co_freevars:
                    found.append((function, code))
    return found


_TURN = "_interleavings_turn"


def _with_turns(file: Path) -> CodeType:
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            turn = ast.Expr(ast.Call(ast.Name(_TURN, ast.Load()), [], []))
            documented = ast.get_docstring(node, clean=False) is not None
            node.body.insert(int(documented), ast.copy_location(turn, node.body[0]))
    return compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True)


def _codes_in(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes_in(each)


def _functions_of(module: ModuleType) -> Iterator[FunctionType]:
    owners = [one for one in vars(module).values() if isinstance(one, type)]
    for owner in (module, *(one for one in owners if one.__module__ == module.__name__)):
        for value in vars(owner).values():
            for name in ("", "__func__", "__wrapped__", "fget", "fset", "func"):
                function = getattr(value, name, None) if name else value
                if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                    yield function
