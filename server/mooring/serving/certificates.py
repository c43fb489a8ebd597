"""Certificates from files, read again when the files change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

from mooring.files import seen

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of one side of a connection.

    Attributes:
        certificate: Its certificate chain; None without one.
        key: The private key; None when it is in the certificate's file.
        authority: Whose certificates are accepted on the other side; None accepts what the system does
            for a server, and asks for none of a client.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    def stamp(self) -> tuple[int, ...]:
        """Return what is another once a file has been replaced, or what it links to. Raises OSError if one
        can't be seen, is not a regular file, or is too large.
        """
        found = [seen(path) for path in (self.certificate, self.key, self.authority) if path is not None]
        return tuple(chain.from_iterable((it.st_dev, it.st_ino, it.st_size, it.st_mtime_ns) for it in found))


class FollowedFiles(Generic[Read]):
    """A value made of certificate files, made again when they change.

    A rotation that is in progress or broken keeps the value in use. For one thread at a time.

    Args:
        read: Makes something of them; raises OSError when it can't.
        extra: Returns another input of the value; compared each time.

    Raises:
        OSError: A file can't be used now.

    Attributes:
        current: The latest value.
    """

    def __init__(
        self, files: TlsFiles, read: Callable[[TlsFiles], Read], extra: Callable[[], object] = lambda: None
    ) -> None:
        self._files = files
        self._read = read
        self._extra = extra
        # Taken before the files are read: they may change meanwhile.
        self._stamp = self._seen()
        self.current = read(files)

    def changed(self) -> Read | None:
        """Return the value of changed files; None when they haven't changed, or can't be used now."""
        try:
            stamp = self._seen()
            if stamp == self._stamp:
                return None
            self.current = self._read(self._files)
        except OSError:
            return None
        self._stamp = stamp
        return self.current

    def _seen(self) -> tuple[object, ...]:
        return (*self._files.stamp(), self._extra())
