"""The files of a recording: frames of zstd, each with a checksum, of messages with their lengths before them.

docs/recordings.md has the layout for readers that don't use this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError

from mooring.framework.errors import InvalidArgumentError
from mooring_client.recording.v1 import recording_pb2 as pb

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT_VERSION = 1

FRAME_BYTES = 1 << 20
"""A frame ends when its messages take this many bytes, or when it is flushed."""

MAX_FRAME_BYTES = 64 << 20
"""No frame is larger: one that says so is damaged."""

_CHUNK_BYTES = 1 << 20
_MAX_LENGTH_BITS = 28
_MORE = 1 << 7
"""In a byte of a varint: another one follows."""
_LEVEL = 3


class RecordingError(InvalidArgumentError):
    """A recording can't be read from some place on; what comes before it can be used."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of an entry.

    Attributes:
        segment: The file.
        offset: The position in the file of its frame's first byte.
    """

    segment: Path
    offset: int

    def __str__(self) -> str:
        return f"{self.segment}, frame at byte {self.offset}"


class SegmentWriter:
    """Writes one file, which must not exist and only its owner can read. For one thread.

    Attributes:
        path: The file.
        size: Bytes in the file so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(created, "wb", buffering=0)
        self._messages = bytearray()

    def add(self, entry: pb.RecordingEntry) -> None:
        """Write one more entry; it is in the file after ``flush``. Raises OSError if the file can't be
        written.
        """
        data = entry.SerializeToString()
        length = len(data)
        while length >= _MORE:
            self._messages.append(length & (_MORE - 1) | _MORE)
            length >>= 7
        self._messages.append(length)
        self._messages += data
        if len(self._messages) >= FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        """End the frame: what was added is in the file then. Raises OSError if the file can't be written."""
        if self._messages:
            options: dict[int, int] = {
                zstd.CompressionParameter.compression_level: _LEVEL,
                zstd.CompressionParameter.checksum_flag: 1,
            }
            frame = zstd.compress(self._messages, options=options)
            self._write(frame)
            self._messages = bytearray()

    def _write(self, frame: bytes) -> None:
        """Write a whole frame or, where the disk is full, nothing of it."""
        rest = memoryview(frame)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self.size += len(frame)

    def close(self) -> None:
        """End the file."""
        try:
            self.flush()
        finally:
            self._file.close()


def segment_path(directory: Path, number: int) -> Path:
    """Return the file of that number, 1 or more."""
    return directory / f"segment-{number:08}.zst"


def segments_of(directory: Path) -> Sequence[Path]:
    """Return the files of a recording, in their order."""
    return sorted(directory.glob("segment-*.zst"))


def header_of_recording(directory: Path) -> pb.RecordingHeader:
    """Return the first header of a recording. Raises RecordingError if there is none, or it is of another
    version.
    """
    segments = segments_of(directory)
    if not segments:
        raise no_recording(directory)
    _, entry = next(read_segment(segments[0]))
    return entry.header


def no_recording(directory: Path) -> InvalidArgumentError:
    """Return the error for a directory that has none."""
    return RecordingError.at(str(directory), "has no recording: there is no file segment-*.zst")


def size_of_recording(directory: Path) -> int:
    """Return how many bytes its files have."""
    return sum(path.stat().st_size for path in segments_of(directory))


def read_segment(
    path: Path, advance: Callable[[int], object] = lambda _: None
) -> Iterator[tuple[Place, pb.RecordingEntry]]:
    """Yield the entries of a file, each with its place; ``advance`` is called with the number of bytes just
    read. Raises RecordingError if the file is cut, damaged, of another version, or none; all before that was
    yielded.
    """
    first, told = True, 0
    for place, messages in _frames(path):
        advance(place.offset - told)
        told = place.offset
        for entry in _messages_of(messages, place):
            if first:
                _check_header(entry, place)
                first = False
            yield place, entry
    advance(path.stat().st_size - told)
    if first:
        raise RecordingError.at(str(path), "is empty; a recording begins with a header")


def _frames(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Yield each frame's content."""
    with path.open("rb") as file:
        offset, rest = 0, b""
        while rest or (rest := file.read(_CHUNK_BYTES)):
            place, reader = Place(path, offset), zstd.ZstdDecompressor()
            parts, length = [], 0
            while True:
                try:
                    part = reader.decompress(rest, MAX_FRAME_BYTES - length + 1)
                except zstd.ZstdError as error:
                    raise RecordingError.at(
                        str(place), f"is damaged ({error}); what comes before it is fine"
                    ) from None
                offset += len(rest)
                parts.append(part)
                length += len(part)
                if length > MAX_FRAME_BYTES:
                    raise RecordingError.at(str(place), f"is damaged: has more than {MAX_FRAME_BYTES} bytes")
                if reader.eof:
                    break
                rest = file.read(_CHUNK_BYTES)
                if not rest:
                    raise RecordingError.at(
                        str(place), "is cut off: the file ends within it; what comes before it is fine"
                    )
            rest = reader.unused_data
            offset -= len(rest)
            yield place, b"".join(parts)


def _messages_of(data: bytes, place: Place) -> Iterator[pb.RecordingEntry]:
    parse, at, end = pb.RecordingEntry.FromString, 0, len(data)
    while at < end:
        try:
            begins, length = _varint(data, at)
            at = begins + length
            entry = parse(data[begins:at])
        except (DecodeError, IndexError, ValueError) as error:
            raise _no_entry(place, str(error)) from None
        if at > end:
            raise _no_entry(place, "it ends within one")
        yield entry


def _no_entry(place: Place, why: str) -> InvalidArgumentError:
    text = f"has something that is not an entry ({why}); what comes before it is fine"
    return RecordingError.at(str(place), text)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return where the varint at ``at`` ends, and its value. IndexError or ValueError: it is broken."""
    value, shift = data[at], 7
    # The highest bit of each byte says that another one follows.
    while value >> shift:
        if shift > _MAX_LENGTH_BITS:
            raise ValueError("no length is as long")
        at += 1
        value += (data[at] - 1) << shift
        shift += 7
    return at + 1, value


def _check_header(entry: pb.RecordingEntry, place: Place) -> None:
    if entry.WhichOneof("content") != "header":
        raise RecordingError.at(str(place), "is not a recording: it begins without a header")
    version = entry.header.format_version
    if version != FORMAT_VERSION:
        raise RecordingError.at(
            str(place),
            f"is of format version {version}, and this mooring reads version {FORMAT_VERSION}; "
            f"it was written by mooring {entry.header.mooring_version}",
        )
