"""Threads that take turns as a seed says: each interleaving can be played again.

One thread runs at a time. It may lose its turn at every operation of a lock, condition or event, and at every
call of a function in the rooms in question. Waits with a limit end when nothing else can happen; then the
time moves on to that moment.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from mooring.framework.node_table import NodeTable
from mooring.framework.pod_classes import PodClasses

ROOMS = ("cluster", "runtime", "scheduler", "framework")
PATIENCE = 60.0
"""Real seconds after which a run counts as hanging in code that takes no turns, unless the process worked."""
IDLE = 0.05
"""Seconds of a processor that a process which hangs may use meanwhile."""
LONGEST = 20
"""A run that works for this many times that long counts as endless."""

SWITCHES = (0.01, 0.05, 0.2, 0.6)
"""How likely a thread loses its turn; a run has one of these: some races take many turns, and some few."""


class DeadlockError(AssertionError):
    """No thread can go on."""


class _Ended(BaseException):
    """The run is over; a thread that is left ends."""


def _closed() -> threading.Lock:
    gate = threading.Lock()
    gate.acquire()
    return gate


@dataclass(eq=False)
class Task:
    """A thread that takes turns.

    Attributes:
        name: Its name.
        gate: Released when it has its turn.
        ready: Whether it can go on; None = it waits for nothing.
        until: When its wait ends anyway.
        ended: It is over.
        daemon: The run does not wait for it.
    """

    name: str
    gate: threading.Lock = field(default_factory=_closed)
    ready: Callable[[], bool] | None = None
    until: float = math.inf
    ended: bool = False
    daemon: bool = False


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
        self._tasks: list[Task] = []
        self._by_thread: dict[int, Task] = {}
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._quiet = 0

    def current(self) -> Task | None:
        """Return the task of the calling thread."""
        return self._by_thread.get(threading.get_ident())

    def run(self, calls: Sequence[Callable[[], None]]) -> None:
        """Run the calls, each in a thread, until all have ended.

        Raises:
            BaseException: The first that one of them raised.
        """
        Turns.active = self
        try:
            for number, call in enumerate(calls):
                self.begin(call, f"call-{number}")
            self._hand_over(None)
            if self._hangs():
                self._error = self._error or DeadlockError("a thread waits for something that takes no turns")
            self._end()
        finally:
            Turns.active = None
        if self._error is not None:
            raise self._error

    def _hangs(self) -> bool:
        """Wait for the end; return whether it doesn't come. A busy machine may let a run wait for minutes."""
        for _ in range(LONGEST):
            used = time.process_time()
            if self._over.wait(PATIENCE):
                return False
            if time.process_time() - used < IDLE:
                break
        return True

    def begin(self, call: Callable[[], object], name: str, *, daemon: bool = False) -> Task:
        """Add a thread."""
        task = Task(name, daemon=daemon)
        self._tasks.append(task)
        started = threading.Event()

        def work() -> None:
            self._by_thread[threading.get_ident()] = task
            started.set()
            try:
                self._wait(task)
                call()
            except _Ended:
                return
            except BaseException as error:  # noqa: BLE001 - told by the run
                self._fail(error)
            finally:
                task.ended = True
            if not self._over.is_set():
                self._hand_over(None)

        threading.Thread(target=work, name=name, daemon=True).start()
        started.wait()
        return task

    def point(self) -> None:
        """Lose the turn, maybe."""
        self._left -= 1
        if self._left < 0 and not self._quiet and (task := self.current()) is not None:
            self._left = self._points()
            self._pass(task)

    def _points(self) -> int:
        """Return how many points pass until a turn is lost: a draw for each would take half the time."""
        return int(math.log1p(-self.dice.random()) / self._switch)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """For a judge that looks while the others wait."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def block(self, ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until ``ready()``, for at most ``seconds`` seconds; return whether it is."""
        task = self.current()
        if task is None:
            if ready():
                return True
            raise DeadlockError("a thread outside the run would wait")
        task.ready, task.until = ready, math.inf if seconds is None else self.now + seconds
        self._pass(task)
        task.ready, task.until = None, math.inf
        return ready()

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.block(lambda: False, seconds)

    def _pass(self, task: Task) -> None:
        if self._hand_over(task) is not task:
            self._wait(task)

    def _wait(self, task: Task) -> None:
        task.gate.acquire()
        if self._over.is_set():
            raise _Ended

    def _hand_over(self, before: Task | None) -> Task | None:
        """Give the turn to a thread that can go on, and return it; ``before``, which had it, may keep it."""
        if all(task.ended or task.daemon for task in self._tasks):
            self._over.set()
            return None
        can = [one for one in self._tasks if not one.ended and (one.ready is None or one.ready())]
        if not can:
            waiting = [one for one in self._tasks if not one.ended and one.until < math.inf]
            if not waiting:
                self._fail(DeadlockError(f"all wait: {[one.name for one in self._tasks if not one.ended]}"))
                return None
            can = [min(waiting, key=lambda one: one.until)]
            self.now = max(self.now, can[0].until)
        following = self.dice.choice(can) if len(can) > 1 else can[0]
        if following is not before:
            self.switches += 1
            following.gate.release()
        return following

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._over.set()

    def _end(self) -> None:
        for task in self._tasks:
            if not task.ended:
                task.gate.release()


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
        self._owner = 0
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = threading.get_ident()
        if self._held and self._owner == me:
            self._depth += 1
            return True
        if not super().acquire(blocking, timeout):
            return False
        self._owner, self._depth = me, 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            super().release()

    def save(self) -> int:
        depth, self._depth, self._owner = self._depth, 0, 0
        super().save()
        return depth

    def take_again(self, depth: int) -> None:
        self._held, self._owner, self._depth = True, threading.get_ident(), depth

    def _is_owned(self) -> bool:
        return self._held and self._owner == threading.get_ident()


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


class Thread:
    """As ``threading.Thread``; it can start only within a run."""

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
        self._work = lambda: target(*args)
        self._task: Task | None = None

    def start(self) -> None:
        """Take turns from now on."""
        if Turns.active is None:
            raise DeadlockError(f"thread {self.name} starts outside a run")
        self._task = Turns.active.begin(self._work, self.name, daemon=self.daemon)

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self._task is not None and not self._task.ended

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        _block(lambda: not self.is_alive(), timeout)


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
    current_thread=threading.current_thread,
    get_ident=threading.get_ident,
    local=threading.local,
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
