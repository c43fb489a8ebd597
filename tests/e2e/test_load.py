"""ghz calls a server as deploy/load describes: nothing fails. The reports stay in deploy/load/reports."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .build import BIN, ROOT
from .process import environment
from .processes import MooringServer

pytestmark = pytest.mark.e2e

LOAD = ROOT / "deploy" / "load"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MooringServer]:
    """mooring on its sample cluster."""
    with MooringServer(tmp_path, source="sample") as running:
        yield running


@pytest.mark.parametrize("name", ["filter", "schedule"])
def test_load_without_an_error(server: MooringServer, name: str) -> None:
    report = LOAD / "reports" / f"{name}.json"
    report.parent.mkdir(exist_ok=True)
    command = [str(BIN / "ghz"), "--config", str(LOAD / f"{name}.json"), "--format", "pretty"]
    command += ["--output", str(report), server.address]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)
    result = json.loads(report.read_text())
    assert result["errorDistribution"] == {}
    assert result["statusCodeDistribution"] == {"OK": result["count"]}
    assert result["count"] > 0
