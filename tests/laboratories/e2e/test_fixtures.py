"""The committed protobuf fixtures are what Kubernetes' own Go types write today."""

from pathlib import Path

import pytest

from tests.process import run

from .build import HERE, ROOT

pytestmark = pytest.mark.e2e

COMMITTED = ROOT / "tests" / "testdata" / "protobuf"


def test_fixtures_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    for release in ([], ["-modfile=go-1.37.mod", "-tags=v1_37"]):
        run("go", "run", *release, ".", tmp_path, directory=HERE / "fixtures")
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    committed = {file.name: file.read_bytes() for file in COMMITTED.iterdir()}
    assert sorted(made) == sorted(committed)
    assert [name for name, content in made.items() if committed[name] != content] == []
