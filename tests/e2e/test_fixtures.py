"""The committed protobuf fixtures are what Kubernetes' own Go types write today."""

import subprocess
from pathlib import Path

import pytest

from .build import HERE, ROOT
from .process import environment

pytestmark = pytest.mark.e2e

COMMITTED = ROOT / "tests" / "testdata" / "protobuf"


def test_fixtures_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run(["go", "run", ".", str(tmp_path)], cwd=HERE / "fixtures", env=environment(), check=True)
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    committed = {file.name: file.read_bytes() for file in COMMITTED.iterdir()}
    assert sorted(made) == sorted(committed)
    assert [name for name, content in made.items() if committed[name] != content] == []
