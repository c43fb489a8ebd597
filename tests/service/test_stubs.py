"""The committed stubs are those of the .proto files, and a difference is named."""

from pathlib import Path

import pytest

from tools import generate_stubs


@pytest.mark.slow
def test_the_committed_stubs_are_up_to_date() -> None:
    assert generate_stubs.differences() == []


@pytest.mark.slow
def test_stale_stubs_are_named(tmp_path: Path) -> None:
    generate_stubs.generate(tmp_path)
    (tmp_path / "clients/python/mooring_client/v1/nodes_pb2.py").write_text("changed")
    (tmp_path / "clients/python/mooring_client/v1/nodes_pb2.pyi").unlink()
    (tmp_path / "clients/python/mooring_client/v1/gone_pb2.py").write_text("left over")
    assert generate_stubs.differences(tmp_path) == [
        "clients/python/mooring_client/v1/gone_pb2.py: no longer generated",
        "clients/python/mooring_client/v1/nodes_pb2.py: differs from its .proto",
        "clients/python/mooring_client/v1/nodes_pb2.pyi: missing",
    ]
