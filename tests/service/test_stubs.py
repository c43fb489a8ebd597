"""The committed stubs are those of protos/, and it is said which are not."""

from pathlib import Path

import pytest

from tools import generate_stubs


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    generate_stubs.generate(tmp_path)
    monkeypatch.setattr(generate_stubs, "SERVER", tmp_path)
    return tmp_path


def test_the_committed_stubs_are_up_to_date() -> None:
    assert generate_stubs.differences() == []


def test_stale_stubs_are_named(server: Path) -> None:
    (server / "mooring/v1/nodes_pb2.py").write_text("changed")
    (server / "mooring/v1/nodes_pb2.pyi").unlink()
    (server / "mooring/v1/gone_pb2.py").write_text("left over")
    assert generate_stubs.differences() == [
        "server/mooring/v1/gone_pb2.py: no longer generated",
        "server/mooring/v1/nodes_pb2.py: differs from what protos/ gives",
        "server/mooring/v1/nodes_pb2.pyi: missing",
    ]
