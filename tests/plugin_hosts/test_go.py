"""The rules of ``rules.py`` in a host in Go, made with its library, decide as the rules in process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.config.types import PluginHostStanza
from mooring.plugin_hosts.connection import HostConnection
from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.plugin_hosts.hosts import PATIENT, Hosted, SpoiledHost
from tests.plugin_hosts.rules import PAIRS
from tests.plugin_hosts.twins import twin

GO = Path(__file__).parents[2] / "clients/go"
pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """The host in Go."""
    folder = tmp_path_factory.mktemp("go")
    subprocess.run(["go", "build", "-o", folder / "rules", "./internal/rules"], cwd=GO, check=True)
    address = f"unix:{folder}/host.sock"
    process = subprocess.Popen([folder / "rules", address])
    connection = HostConnection(PluginHostStanza(address, evaluate_timeout=PATIENT))
    connection.open()
    try:
        yield Hosted(address, SpoiledHost([]), connection)
    finally:
        connection.close()
        process.terminate()
        process.wait()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["process", "stuck", "sessions"])
def test_a_host_in_go_decides_as_the_rule_in_process(
    form: str, seed: int, host: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configurations, "RULES", tuple(twin(host, name) for name in PAIRS))
    monkeypatch.setattr(configurations, "FAULTY_IN", 0.0)
    monkeypatch.setattr(configurations, "FAULTY_RULES", ())
    monkeypatch.setattr(configurations, "RULES_IN", 1.0)
    configurations.registry.cache_clear()
    try:
        played = play(FORMS[form], seed, range(15))
    finally:
        configurations.registry.cache_clear()
    assert played.mismatch == ""
