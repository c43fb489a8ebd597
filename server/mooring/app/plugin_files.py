"""The files of the plugins in force, imported again while the process runs: for development alone."""

from __future__ import annotations

import importlib
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mooring.files import read_file
from mooring.framework import Plugin
from mooring.framework.errors import InvalidArgumentError

_INSTALLED = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
"""Folders of modules that have nothing to do with each other."""


class PluginFiles:
    """The modules of plugins that are not mooring's own, and those in the same folders. For one thread.
    ``in_force`` returns the classes of the plugins in force.
    """

    def __init__(self, in_force: Callable[[], Iterable[type[Plugin[Any]]]]) -> None:
        self._in_force = in_force

    def text(self) -> str:
        """Return the text of all files; it changes when one of them does."""
        return "\0".join(_text(file) for file in self._files())

    @contextmanager
    def imported_again(self) -> Iterator[None]:
        """Have what the block imports of them imported from its file; if it fails, all stays as it was.
        Raises InvalidArgumentError if the block failed in one of the files; names its line.
        """
        roots, files = self._roots(), set(map(str, self._files()))
        before = _modules(roots)
        for name in before:
            del sys.modules[name]
        importlib.invalidate_caches()
        try:
            yield
        except Exception as error:
            for name in _modules(roots):
                del sys.modules[name]
            sys.modules.update(before)
            cause, place = _place(error, files)
            if not place:
                raise
            raise InvalidArgumentError.at(place, f"{type(cause).__name__}: {cause}") from error

    def _roots(self) -> set[str]:
        """Return the names of the outermost packages and modules, and of other modules in their folders."""
        bases = {base for kind in self._in_force() for base in kind.__mro__ if issubclass(base, Plugin)}
        own = {base.__module__.partition(".")[0] for base in bases} - {"mooring", "__main__"}
        folders = {file.parent for name in own if (file := _file(name))} - _INSTALLED
        beside = {
            name
            for name in tuple(sys.modules)
            if (file := _file(name)) is not None and file.parent in folders
        }
        return own | beside - {"__main__"}

    def _files(self) -> list[Path]:
        modules = [module for name in self._roots() if (module := sys.modules.get(name))]
        folders = [Path(folder) for module in modules for folder in getattr(module, "__path__", ())]
        alone = [file for module in modules if (file := _file(module.__name__))]
        return sorted([*alone, *(file for folder in folders for file in folder.rglob("*.py"))])


def _file(name: str) -> Path | None:
    """Return the file of an outermost module; None for packages, and for modules without a file."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return Path(file) if file and "." not in name and not hasattr(module, "__path__") else None


def _text(file: Path) -> str:
    try:
        return f"{file}\0{read_file(file).decode(errors='replace')}"
    except OSError as error:
        # An editor may be replacing it.
        return f"{file}\0{error}"


def _modules(roots: Iterable[str]) -> dict[str, Any]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in roots}


def _place(error: BaseException, files: set[str]) -> tuple[BaseException, str]:
    """Return the first cause of an error, and FILE:LINE of it in one of the files; "" = it is elsewhere."""
    while error.__cause__ is not None:
        error = error.__cause__
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno or 0))
    return error, next((f"{file}:{line}" for file, line in reversed(places) if file in files), "")
