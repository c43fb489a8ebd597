"""From the bytes of a request to its message, within bounds of memory.

The transport hands compressed messages over as they came: it would make megabytes of kilobytes before they
has counted them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from mooring.framework.errors import InvalidArgumentError
from mooring.framework.memory import share_of_memory
from mooring.serving.calls.counting import Counting
from mooring.serving.calls.memory import Share

LARGEST_MESSAGE_BYTES: Final = 64 * 2**20
"""How many bytes an answer may have,"""
MAX_MESSAGE_BYTES: Final = share_of_memory(16, LARGEST_MESSAGE_BYTES)
"""and a request, decompressed: gRPC receives several as a whole before the first one is counted."""

SMALL_BYTES: Final = 16 * 2**10
"""Bodies up to this size are read as they are: whatever they hold takes little memory."""

_ENTRY_BYTES: Final = 64
"""The bytes that an entry of a repeated field counts in addition to its own."""

_PIECE_BYTES: Final = 2**20
_GZIP: Final = b"\x1f\x8b"
_DEFLATE: Final = b"\x78"
_EITHER_FORMAT: Final = 32 + zlib.MAX_WBITS


class Reader:
    """Reads the requests of one method. Thread-safe. ``deserialize`` makes the message, and raises
    DecodeError.
    """

    def __init__(self, deserialize: Callable[[bytes], Any], request: Descriptor) -> None:
        self._deserialize = deserialize
        self._counting = Counting(request)

    def read(self, body: bytes, share: Share) -> Any:
        """Parse the message; ``share`` grows to its size.

        Raises:
            InvalidArgumentError: It is not a message of this method, or holds too much.
            ResourceExhaustedError: The bodies of all calls together take too much memory for now.
        """
        try:
            if is_compressed(body):
                body = decompressed(body, share)
            if len(body) > SMALL_BYTES:
                share.grow_to(len(body))
                share.grow_to(len(body) + _ENTRY_BYTES * self._counting.entries(body))
            return self._deserialize(body)
        except DecodeError as error:
            raise no_message() from error


def no_message() -> InvalidArgumentError:
    """Return the error for bytes that are not the message that a method takes."""
    return InvalidArgumentError.at(
        "", "the request is not a message of this method; compare the .proto files"
    )


def is_compressed(body: bytes) -> bool:
    """Return whether bytes are compressed. No message begins as gzip does, and none has a field 15."""
    return body[:2] == _GZIP or (body[:1] == _DEFLATE and int.from_bytes(body[:2]) % 31 == 0)


def decompressed(body: bytes, share: Share) -> bytes:
    """Decompress a message; ``share`` grows with the result.

    Raises:
        DecodeError: It is broken.
        InvalidArgumentError: It is longer than a message may be.
        ResourceExhaustedError: The bodies of all calls together take too much memory for now.
    """
    stream, size = zlib.decompressobj(_EITHER_FORMAT), 0
    pieces = []
    try:
        while not stream.eof:
            piece = stream.decompress(body, _PIECE_BYTES)
            body = stream.unconsumed_tail
            if not piece and not body and not stream.eof:
                raise DecodeError("the compressed message ends early")
            size += len(piece)
            if size > MAX_MESSAGE_BYTES:
                raise InvalidArgumentError.at(
                    "", f"the request has more than {MAX_MESSAGE_BYTES} bytes, decompressed"
                )
            share.grow_to(size)
            pieces.append(piece)
    except zlib.error as error:
        raise DecodeError(f"the compressed message is broken: {error}") from error
    return b"".join(pieces)
