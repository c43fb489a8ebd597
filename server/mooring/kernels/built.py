"""Loops that were compiled when an image was built, and are read from its read-only root.

Imported only if numba is installed.
"""

from __future__ import annotations

from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator


def built_cache(function: Any) -> Any | None:
    """Return the cache next to the source of ``function``; None if it has no form of it."""
    cache: Any = _BuiltCache(function)  # type: ignore[no-untyped-call]  # numba has no types
    return cache if cache.is_current else None


class _Locator(InTreeCacheLocator):
    """The folder next to the source, which numba itself uses only if it can be written."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _CacheImpl(CompileResultCacheImpl):
    def __init__(self, py_func: Any) -> None:
        self._locator_classes = [_Locator]
        super().__init__(py_func)  # type: ignore[no-untyped-call]  # numba has no types


class _BuiltCache(FunctionCache):
    _impl_class = _CacheImpl

    @property
    def is_current(self) -> bool:
        """Whether a form of the function was kept, of the source as it is."""
        return bool(self._cache_file._load_index())  # type: ignore[no-untyped-call]  # noqa: SLF001

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep nothing: other processes find what was built."""
