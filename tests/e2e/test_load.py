"""ghz calls a server as deploy/load describes: nothing fails. The reports stay in deploy/load/reports."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .build import BIN, ROOT
from .process import run
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
    options = ["--config", str(LOAD / f"{name}.json"), "--format", "pretty", "--output", str(report)]
    run(BIN / "ghz", *options, server.address, directory=ROOT)
    result = json.loads(report.read_text())
    assert result["errorDistribution"] == {}
    assert result["statusCodeDistribution"] == {"OK": result["count"]}
    assert result["count"] > 0
