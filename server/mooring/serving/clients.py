"""Clients: the names in their certificates and of ``--allow-client``, and the one that asks here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ASKING: ContextVar[Hashable] = ContextVar("client", default=None)

asking_client: Callable[[], Hashable] = _ASKING.get
"""Return the client whose call this thread works on; None = this process itself."""


def for_client(client: Hashable, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what ``work`` returns, done on a call of ``client``."""
    token = _ASKING.set(client)
    try:
        return work(*args, **named)
    finally:
        _ASKING.reset(token)


NAME_TYPES: Final = ("cn:", "dns:", "uri:")
"""The prefixes of typed names: common names, and alternative names of two kinds. Others are ignored."""


def typed_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of ``--allow-client`` with their types.

    One without a type is a URI where it has a scheme and //, else a common name or a DNS name.
    """
    return frozenset(
        with_type
        for name in names
        for with_type in (
            [name]
            if name.startswith(NAME_TYPES)
            else [f"uri:{name}"]
            if "://" in name
            else [f"cn:{name}", f"dns:{name}"]
        )
    )


def certified_names(
    common: Iterable[str], dns: Iterable[str] = (), uris: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names in a verified certificate with their types, the common name first.

    There are none if one of them could mislead: readers differ in which of two common names they take.
    """
    names = (*(f"cn:{name}" for name in common), *(f"dns:{name}" for name in dns))
    names += tuple(f"uri:{name}" for name in uris)
    unclear = sum(name.startswith("cn:") for name in names) > 1 or not all(map(str.isprintable, names))
    return () if unclear else names


def shown_names(names: Iterable[str]) -> str:
    """Return how an error calls a client with these names."""
    return ", ".join(names) or "without a certificate that names it"
