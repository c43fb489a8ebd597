"""By which names a browser may ask: on loopback another site's name must not lead here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Hosts:
    """The names that a request's Host may have.

    A name server that a stranger controls can point a name of his at this machine, so that a browser takes
    what is served here for a part of his site; the Host is still his.

    Args:
        names: The allowed names, without a port; ``LOOPBACK`` are always. None allows every name.
    """

    def __init__(self, names: Collection[str] | None) -> None:
        self._names = None if names is None else LOOPBACK | {name.lower() for name in names}

    def rejection(self, host: bytes) -> str:
        """Return why a request with this Host is rejected; "" = it is not."""
        name = host.decode("latin-1").lower()
        if not name.endswith("]"):
            head, colon, port = name.rpartition(":")
            name = head if colon and port.isdecimal() else name
        if self._names is None or name in self._names:
            return ""
        return f"the page is not served as {name!r}: name it with --allow-host"
