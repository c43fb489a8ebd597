"""Reads outside of a plugin's arguments: of clocks, random numbers, files, the network and more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType, ModuleType
from typing import Any

from mooring.plugin_check.findings import Home, PluginFault, is_below

_GIVEN = "take it from the pod, from the node (a label or an annotation), or from the arguments"
_BY_VALUE = "compare names or UIDs; hashlib hashes them alike everywhere"
_NO_LOCK = "keep nothing between calls, then no lock is needed"

_OUTSIDE = (
    ("the clock", "time", "", _GIVEN),
    ("the clock", "datetime", "now utcnow today", _GIVEN),
    ("random numbers", "random secrets numpy.random", "", _GIVEN),
    ("random numbers", "uuid", "uuid1 uuid4 getnode", _GIVEN),
    ("the environment", "os", "environ environb getenv getenvb _Environ __getitem__ get", _GIVEN),
    ("a file", "io _io", "open open_code FileIO TextIOWrapper BufferedReader BufferedWriter", _GIVEN),
    ("a file", "pathlib", "Path PosixPath WindowsPath", _GIVEN),
    ("a file", "os posix nt", "listdir lstat open read scandir stat statvfs walk", _GIVEN),
    ("a file", "genericpath glob shutil tempfile fileinput sqlite3 dbm shelve", "", _GIVEN),
    (
        "the network",
        "socket _socket ssl select http.client urllib.request urllib3 requests httpx",
        "",
        _GIVEN,
    ),
    ("the network", "aiohttp grpc kubernetes ftplib smtplib mooring.http_client", "", _GIVEN),
    ("the machine", "os posix nt", "cpu_count getcwd getloadavg getpid system uname urandom", _GIVEN),
    ("the machine", "platform getpass subprocess multiprocessing", "", _GIVEN),
    ("the console", "builtins", "input", _GIVEN),
    ("a number that differs between processes", "builtins", "id hash", _BY_VALUE),
    ("code that only exists at run time", "builtins", "eval exec __import__", "write it out"),
    ("threads", "threading _thread concurrent asyncio contextvars queue", "", _NO_LOCK),
)
"""The source, the modules that read it, their names that do (none = all of them), and the remedy."""

_PASSED_OVER = ("mooring", "logging", "warnings", "importlib", "_frozen_importlib")
"""Modules that may read a clock or a file on the way: no answer depends on it."""

Read = tuple[str, str]
"""The source of a read outside, and the remedy; two empty texts = nothing is read."""


class OutsideReadError(Exception):
    """A plugin that promises to be pure reads outside."""


@cache
def outside(module: str, name: str) -> Read:
    """Return what ``name`` of a module reads; without a name, what all of the module does."""
    for what, modules, names, remedy in _OUTSIDE:
        if is_below(module, *modules.split()) and (not names or name in names.split()):
            return what, remedy
    return "", ""


def read_by(value: object) -> Read:
    """Return what a module, a function, a class or an object reads."""
    if isinstance(value, ModuleType):
        return outside(value.__name__, "")
    named: Any = value if isinstance(getattr(value, "__name__", None), str) else type(value)
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        # A method of an object or a class in C, such as random.random and datetime.now.
        return outside((owner if isinstance(owner, type) else type(owner)).__module__, named.__name__)
    return outside(getattr(named, "__module__", None) or "", named.__name__)


@contextmanager
def watched(home: Home) -> Iterator[list[PluginFault]]:
    """Find what the author's code below ``home`` reads outside during the block, in this thread.

    The read raises OutsideReadError in the plugin before it comes about, in functions in C too.
    """
    found: list[PluginFault] = []

    def hook(frame: FrameType, event: str, called: Any) -> None:
        caller: FrameType | None = frame
        if event == "c_call":
            what, remedy = read_by(called)
        elif event == "call":
            what, remedy = outside(frame.f_globals.get("__name__", ""), frame.f_code.co_name)
            caller = frame.f_back
        else:
            return
        if what and (line := _line_of(home, caller, direct=remedy == _BY_VALUE)):
            name = frame.f_code.co_qualname if event == "call" else called.__qualname__
            found.append(PluginFault.at(line.f_code, f"reads {what} ({name})", remedy, line.f_lineno))
            raise OutsideReadError(found[-1].fault)

    sys.setprofile(hook)
    try:
        yield found
    finally:
        sys.setprofile(None)


def _line_of(home: Home, frame: FrameType | None, *, direct: bool) -> FrameType | None:
    """Return the author's frame that a call comes from; None if it is not the author's doing.

    With ``direct`` it has to be the caller itself: libraries use ``id`` and ``hash`` harmlessly.
    """
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if is_below(module, *home):
            return None if frame.f_code.co_filename.startswith("<") else frame
        if direct or is_below(module, *_PASSED_OVER):
            return None
        frame = frame.f_back
    return None
