"""The page's files, as the package carries them: read once, and small on the way."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

CONTENT_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
"""By the end of the name; a file of another kind is not served."""

INDEX: Final = "index.html"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page.

    Attributes:
        body: Its bytes.
        compressed: The same in gzip.
        content_type: Their media type.
        tag: Changes with the bytes, for ``ETag``.
    """

    body: bytes
    compressed: bytes
    content_type: bytes
    tag: bytes


def read_files() -> Mapping[str, File]:
    """Return the page's files by name; ``INDEX`` is the page itself."""
    found = {}
    for item in (resources.files(__package__) / "static").iterdir():
        kind = CONTENT_TYPES.get(item.name[item.name.rfind(".") :])
        if kind is not None:
            body = item.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'.encode()
            found[item.name] = File(body, gzip.compress(body, mtime=0), kind, tag)
    return found
