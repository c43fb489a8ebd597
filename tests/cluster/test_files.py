"""How files are read that others write: regular ones, of a bounded size, without waiting."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.cluster.sources import FilesSource
from mooring.cluster.state import State
from mooring.files import FILE_BYTES, read_file, seen
from mooring.framework.errors import InvalidArgumentError
from mooring.serving.certificates import FollowedFiles, TlsFiles


def sparse(path: Path) -> None:
    """A file that has a gigabyte and takes nothing of the disk."""
    with path.open("wb") as file:
        file.truncate(1 << 30)


def linked(path: Path) -> None:
    sparse(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


WRONG = [
    pytest.param(os.mkfifo, "not a regular file", id="a pipe"),
    pytest.param(Path.mkdir, "Is a directory", id="a directory"),
    pytest.param(sparse, f"more than {FILE_BYTES} bytes", id="a large file"),
    pytest.param(linked, f"more than {FILE_BYTES} bytes", id="a link to one"),
    pytest.param(endless, "not a regular file", id="a device without an end"),
    pytest.param(str, "No such file", id="none"),
]


@pytest.mark.parametrize(("make", "why"), WRONG)
def test_what_is_no_file_to_read_is_told(make: Callable[[Path], object], why: str, tmp_path: Path) -> None:
    make(tmp_path / "file")
    for look in (read_file, seen):
        with pytest.raises(OSError, match=why):
            look(tmp_path / "file")


def test_a_file_has_as_many_bytes_as_it_may(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_file(file, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_file(file, 4)


def test_a_pipe_is_waited_for_where_a_file_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=(b"said",))
    writing.start()
    assert read_file(pipe, pipe=True) == b"said"
    writing.join()


@pytest.mark.parametrize(("make", "why"), WRONG)
def test_what_takes_the_place_of_a_source_changes_nothing(
    make: Callable[[Path], object], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.cluster.manifests.documents.MANIFEST_BYTES", FILE_BYTES)
    file = tmp_path / "cluster.yaml"
    file.write_text("{kind: Node, metadata: {name: a}}")
    state = State()
    source = FilesSource(state, [file], poll_seconds=3600)
    source.start()
    file.unlink()
    make(file)
    assert not source.poll_files() or why == "Is a directory"
    source.stop()
    if why != "Is a directory":
        assert [*state.snapshot.nodes.index] == ["a"]
        assert why in source.describe()[0].error


@pytest.mark.parametrize(("make", "why"), WRONG)
def test_what_takes_the_place_of_a_certificate_changes_nothing(
    make: Callable[[Path], object], why: str, tmp_path: Path
) -> None:
    file = tmp_path / "tls.crt"
    file.write_bytes(b"first")
    reads = []

    def read(files: TlsFiles) -> int:
        reads.append(files)
        return len(reads)

    followed = FollowedFiles(TlsFiles(certificate=file), read)
    file.unlink()
    make(file)
    assert followed.changed() is None
    assert (followed.current, len(reads)) == (1, 1)
    with pytest.raises(OSError, match=why):
        FollowedFiles(TlsFiles(certificate=file), read)


def test_the_end_does_not_wait_for_a_look_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.cluster.sources.files.STOP_SECONDS", 0.01)
    file = tmp_path / "cluster.yaml"
    file.write_text("{kind: Node, metadata: {name: a}}")
    source = FilesSource(State(), [file], poll_seconds=0.001)
    looking, end = threading.Event(), threading.Event()

    def hang() -> bool:
        looking.set()
        end.wait()
        return False

    monkeypatch.setattr(source, "poll_files", hang)
    source.start()
    looking.wait()
    source.stop()
    assert not end.is_set()
    end.set()


def test_a_first_load_says_what_is_in_the_place_of_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cluster.yaml")
    with pytest.raises(InvalidArgumentError, match="not a regular file"):
        FilesSource(State(), [tmp_path / "cluster.yaml"]).start()
