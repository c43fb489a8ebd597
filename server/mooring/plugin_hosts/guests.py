"""Guests: WebAssembly modules with plugins, which run in this process.

A guest takes and returns the messages of a host, so it is called through the interface of a gRPC channel. It
has no files, no network, no clock and no randomness. Each call has fuel, and each instance a limit of memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

import grpc
import wasmtime
from google.protobuf.message import DecodeError

from mooring.files import read_file
from mooring.framework.errors import InvalidArgumentError
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb

FUEL_PER_SECOND = 1_000_000_000
"""The number of instructions that stand for a second, so that a guest ends alike on every machine."""

MEMORY_BYTES = 256 << 20
"""The most memory of an instance. One that has more than half of it is not used again, since it may leak."""

_OPEN_SECONDS = 10.0
"""How long an instance may take to begin."""

_MODULE_BYTES, _ANSWER_BYTES = 64 << 20, 4 << 20
_TABLE_ELEMENTS = 1 << 20
_EXPORTS = {"mooring_alloc": "(i32) -> (i32)", "mooring_call": "(i32 i32 i32) -> (i64)"}
_METHODS = ("Describe", "Configure", "Evaluate", "Measure", "Act")
"""The calls of PluginHostService, by their numbers from 1 on."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_WASI = "wasi_snapshot_preview1"
_DONE, _BAD_FILE, _FAULT = 0, 8, 21


class GuestError(grpc.RpcError):
    """A call of a guest failed, with a code of gRPC."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        """Return the code."""
        return self._code

    def details(self) -> str:
        """Return the text."""
        return self._details


def guest_channel(path: str) -> grpc.Channel:
    """Return the channel to the guest in a file: the same one for the same content.

    Raises:
        InvalidArgumentError: It can't be read, or is not a guest.
    """
    try:
        code = read_file(path, _MODULE_BYTES)
    except OSError as error:
        raise InvalidArgumentError.at(path, f"can't be read: {error.strerror}") from None
    return cast("grpc.Channel", _channel(path, code))


class GuestChannel:
    """A guest, as the channel to a host. Safe from any thread: calls at the same time have an instance each.

    A failed call discards its instance. Another one is configured as that was, so all answer alike.

    Args:
        module: The guest.
        linker: Defines its imports.
        digest: The SHA-256 of the module, which becomes a part of the host's version.
    """

    def __init__(self, module: wasmtime.Module, linker: wasmtime.Linker, digest: str) -> None:
        self.digest = digest
        self._module, self._linker = module, linker
        self._free: list[_Instance] = []
        self._configured: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def unary_unary(
        self, path: str, request_serializer: Callable[[Any], bytes], response_deserializer: Any, **_: object
    ) -> GuestCall:
        """Return what makes a call, as of ``grpc.Channel``."""
        return GuestCall(self, path.rpartition("/")[2], request_serializer, response_deserializer)

    def subscribe(self, callback: object) -> None:
        """Do nothing: a guest is never lost."""

    def unsubscribe(self, callback: object) -> None:
        """Do nothing."""

    def answer(self, method: str, request: bytes, seconds: float) -> bytes:
        """Return the answer of an instance.

        Raises:
            GuestError: The guest fails, traps, takes too long or too much memory, or rejects the call.
        """
        if method != "Configure":
            return self._answered(method, request, seconds)
        with self._lock:
            known = self._configured.get(request)
            return self._answered(method, request, seconds) if known is None else known

    def _answered(self, method: str, request: bytes, seconds: float) -> bytes:
        try:
            instance = self._free.pop()
        except IndexError:
            instance = _Instance(self._linker, self._module)
        for made, before in list(self._configured.items())[instance.configured :]:
            if instance.call("Configure", made, _OPEN_SECONDS) != before:
                raise GuestError(grpc.StatusCode.INTERNAL, "a new instance configures differently")
            instance.configured += 1
        answer = instance.call(method, request, seconds)
        if method == "Configure" and pb.ConfigureResponse.FromString(answer).instance:
            self._configured[request] = answer
            instance.configured += 1
        if instance.memory_bytes <= MEMORY_BYTES // 2:
            self._free.append(instance)
        return answer


@dataclass(frozen=True, slots=True)
class GuestCall:
    """Makes one of the calls, as gRPC's multi-callables do."""

    channel: GuestChannel
    method: str
    serialize: Callable[[Any], bytes]
    parse: Callable[[bytes], Any]

    def __call__(self, request: Any, timeout: float = _OPEN_SECONDS, **_: object) -> Any:
        """Return the answer.

        Raises:
            GuestError: See ``GuestChannel.answer``.
        """
        try:
            answer = self.parse(self.channel.answer(self.method, self.serialize(request), timeout))
        except DecodeError:
            wrong = f"the answer to {self.method} can't be read"
            raise GuestError(grpc.StatusCode.INTERNAL, wrong) from None
        if isinstance(answer, pb.DescribeResponse):
            answer.host_version = f"{answer.host_version} sha256:{self.channel.digest}".strip()
        return answer

    def future(self, request: Any, timeout: float = _OPEN_SECONDS, **_: object) -> Future[Any]:
        """Return the answer, or the error, as a future."""
        made: Future[Any] = Future()
        try:
            made.set_result(self(request, timeout))
        except GuestError as error:
            made.set_exception(error)
        return made


class _Instance:
    """An instance of a guest. For one thread at a time, until a call fails."""

    def __init__(self, linker: wasmtime.Linker, module: wasmtime.Module) -> None:
        self.configured = 0
        self._store = store = wasmtime.Store(linker.engine)
        store.set_limits(memory_size=MEMORY_BYTES, table_elements=_TABLE_ELEMENTS, instances=1, memories=1)
        with _limited(store, _OPEN_SECONDS):
            exports: Any = linker.instantiate(store, module).exports(store)
            if (initialize := exports.get("_initialize")) is not None:
                initialize(store)
        self._memory: wasmtime.Memory = exports["memory"]
        self._alloc, self._call = (exports[name] for name in _EXPORTS)

    @property
    def memory_bytes(self) -> int:
        """The size of its memory."""
        size: int = self._memory.data_len(self._store)
        return size

    def call(self, method: str, request: bytes, seconds: float) -> bytes:
        """Return the message that it answers.

        Raises:
            GuestError: It fails; then it must not be used again.
        """
        store, memory = self._store, self._memory
        with _limited(store, seconds):
            at = self._alloc(store, len(request)) & 0xFFFFFFFF
            memory.write(store, request, at)
            found = self._call(store, _METHODS.index(method) + 1, at, len(request))
            at, size = (found >> 32) & 0xFFFFFFFF, found & 0xFFFFFFFF
            if size > _ANSWER_BYTES:
                raise GuestError(
                    grpc.StatusCode.RESOURCE_EXHAUSTED, f"{size:,} bytes, and at most {_ANSWER_BYTES:,} fit"
                )
            answer = bytes(memory.read(store, at, at + size))
        if len(answer) != size or not answer:
            raise GuestError(grpc.StatusCode.INTERNAL, f"the answer would be {size} bytes at {at}")
        if answer[0]:
            text = answer[1:].decode(errors="replace")
            raise GuestError(_CODES.get(answer[0], grpc.StatusCode.UNKNOWN), text)
        return answer[1:]


@contextmanager
def _limited(store: wasmtime.Store, seconds: float) -> Iterator[None]:
    """Give a guest fuel for some time, and raise its failures as GuestError."""
    store.set_fuel(int(seconds * FUEL_PER_SECOND))
    try:
        yield
    except wasmtime.Trap as trap:
        out_of_fuel = trap.trap_code is wasmtime.TrapCode.OUT_OF_FUEL
        code = grpc.StatusCode.DEADLINE_EXCEEDED if out_of_fuel else grpc.StatusCode.INTERNAL
        raise GuestError(code, _cause(trap)) from None
    except (wasmtime.WasmtimeError, IndexError, TypeError) as error:
        raise GuestError(grpc.StatusCode.INTERNAL, _cause(error)) from None


def _cause(error: Exception) -> str:
    """Return the last cause of an error, without the backtrace."""
    return " ".join(str(error).rpartition("Caused by:")[2].split())


@lru_cache(maxsize=16)
def _channel(path: str, code: bytes) -> GuestChannel:
    config = wasmtime.Config()
    config.consume_fuel = True
    with suppress(wasmtime.WasmtimeError):
        # In the user's directory, if it can be written: compiling a guest of 20 MB takes 15 s.
        config.cache = True
    engine = wasmtime.Engine(config)
    try:
        module = wasmtime.Module(engine, code)
    except wasmtime.WasmtimeError as error:
        raise InvalidArgumentError.at(path, f"is not a WebAssembly module: {_cause(error)}") from None
    exported = {each.name: each.type for each in module.exports}
    for name, expected in _EXPORTS.items():
        if _signature(exported.get(name)) != expected:
            raise InvalidArgumentError.at(path, f"is not a guest: it does not export {name}: {expected}")
    if not isinstance(exported.get("memory"), wasmtime.MemoryType):
        raise InvalidArgumentError.at(path, "is not a guest: it does not export memory")
    linker = wasmtime.Linker(engine)
    # Go imports some of them twice.
    imported = {each.name: each.type for each in module.imports if each.module == _WASI}
    for called, function in _SYSTEM.items():
        if isinstance(type_ := imported.get(called), wasmtime.FuncType):
            linker.define_func(_WASI, called, type_, function, access_caller=True)
    linker.define_unknown_imports_as_traps(module)
    return GuestChannel(module, linker, sha256(code).hexdigest())


def _signature(type_: object) -> str:
    if not isinstance(type_, wasmtime.FuncType):
        return ""
    return f"({' '.join(map(str, type_.params))}) -> ({' '.join(map(str, type_.results))})"


def _put(caller: wasmtime.Caller, at: int, content: bytes) -> int:
    memory: Any = caller["memory"]
    if not 0 <= at <= memory.data_len(caller) - len(content):
        return _FAULT
    memory.write(caller, content, at)
    return _DONE


def _put_sizes(caller: wasmtime.Caller, count: int, size: int) -> int:
    return _put(caller, count, bytes(4)) or _put(caller, size, bytes(4))


def _put_time(caller: wasmtime.Caller, _clock: int, _precision: int, at: int) -> int:
    # Go takes 0 for a fault.
    return _put(caller, at, (1).to_bytes(8, "little"))


def _put_random(caller: wasmtime.Caller, at: int, size: int) -> int:
    return _put(caller, at, bytes(size)) if 0 <= size <= MEMORY_BYTES else _FAULT


def _end_sleep(caller: wasmtime.Caller, _asked: int, _events: int, _count: int, happened: int) -> int:
    # Go sleeps while it collects garbage.
    return _put(caller, happened, bytes(4))


def _do_nothing(*_: object) -> int:
    return _DONE


def _find_no_file(*_: object) -> int:
    return _BAD_FILE


_SYSTEM: dict[str, Callable[..., int]] = {
    "args_get": _do_nothing,
    "args_sizes_get": _put_sizes,
    "clock_time_get": _put_time,
    "environ_get": _do_nothing,
    "environ_sizes_get": _put_sizes,
    "fd_fdstat_get": _find_no_file,
    "fd_prestat_get": _find_no_file,
    "fd_write": _find_no_file,
    "poll_oneoff": _end_sleep,
    "random_get": _put_random,
    "sched_yield": _do_nothing,
}
"""A guest's share of WASI: no argument, a clock that stands still, sleep that ends at once, zeros. Any other
call is a trap."""
