"""The rules of ``tests/plugin_hosts`` in a host of each language decide as the rules in process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.commands import call
from tests.clients.building import CLIENTS, GUESTS, built
from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.plugin_hosts.hosts import Hosted, connected
from tests.plugin_hosts.rules import PAIRS
from tests.plugin_hosts.twins import twin

pytestmark = pytest.mark.clients

LANGUAGES = [
    *[(client, "") for client in CLIENTS if client != "python"],
    *GUESTS.items(),
]


@pytest.fixture(
    params=[
        pytest.param(
            each, marks=pytest.mark.xdist_group(each[0]), id=f"{each[0]} {'guest' if each[1] else 'host'}"
        )
        for each in LANGUAGES
    ],
    scope="module",
)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """Yield the host in a language, or the guest."""
    client, module = request.param
    if module:
        guest = built(client) / module
        if not guest.exists():
            pytest.skip("`check` builds it with rustup alone")
        with connected(f"wasm:{guest}") as host:
            yield host
        return
    address = f"unix:{tmp_path_factory.mktemp('host')}/host.sock"
    process = subprocess.Popen([built(client) / "rules", address])
    try:
        with connected(address) as host:
            yield host
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
@pytest.mark.parametrize("form", ["process", "stuck", "sessions"])
def test_a_host_decides_as_the_rule_in_process(
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
    assert played.decisions + played.comparisons > 0


def test_a_host_passes_the_conformance_suite(host: Hosted, capsys: pytest.CaptureFixture[str]) -> None:
    checked = call(capsys, "conformance", "host", host.address, "--evaluate-timeout", "20s")
    assert checked.code == 0, checked.out
    assert "failed" not in checked.out
