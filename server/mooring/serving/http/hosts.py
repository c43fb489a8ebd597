"""Host names that an HTTP listener accepts: another site's name must not lead here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mooring.serving.certificates import FollowedFiles

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Hosts:
    """The names that a request's Host may have. For one thread at a time.

    A stranger who controls a name server can point a name at this machine, so that a browser takes this site
    for a part of the stranger's; the Host is still the stranger's.

    Args:
        names: The allowed names and addresses, without a port; ``LOOPBACK`` are always. None allows all.
        certified: Those in the listener's certificate, which are allowed, too.
        flag: The flag that allows a name, for errors.
    """

    def __init__(
        self,
        names: Collection[str] | None,
        certified: FollowedFiles[frozenset[str]] | None = None,
        flag: str = "--allow-host",
    ) -> None:
        self._names = None if names is None else LOOPBACK | {name.lower() for name in names}
        self._certified = certified
        self._flag = flag

    def rejection(self, host: bytes, address: str = "") -> str:
        """Return why a request with this Host, sent to ``address``, is rejected; "" = it is not."""
        text = host.decode("latin-1").lower()
        name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
        if self._names is None or name in self._names or (name and name == address) or self._certifies(name):
            return ""
        return f"nothing is served as {name!r} here: give its right name, or allow this one with {self._flag}"

    def _certifies(self, name: str) -> bool:
        if self._certified is None:
            return False
        spellings = {name, f"*.{name.partition('.')[2]}"}
        if spellings.isdisjoint(self._certified.current):
            self._certified.changed()
        return not spellings.isdisjoint(self._certified.current)
