"""The configuration file while the process runs: valid changes, rejected ones, and the report of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from mooring import config
from mooring.app.reload import REJECTED, TOOK, ConfigurationReload, own_pod
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import ReloadMetrics
from mooring.testing import make_pod
from mooring_client.errors import reason_of
from mooring_client.v1.plugin_service_pb2 import ListProfilesRequest
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceStub
from tests.cli.commands import scoring, serving, write_config
from tests.cli.reloading import in_order, reload
from tests.process import until

CATALOG = new_in_tree_registry().catalog()


def read(text: str) -> config.Configuration:
    return config.load(text, CATALOG)


@dataclass
class World:
    """A followed file, and what came of it."""

    file: Path
    applied: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    refuses: str = ""

    def __post_init__(self) -> None:
        self.first = read(self.file.read_text())
        self.reload = ConfigurationReload(
            str(self.file),
            self.first,
            read,
            self.apply,
            ReloadMetrics(self.metrics),
            tell=lambda reason, _: self.told.append(reason),
        )

    def apply(self, configuration: config.Configuration) -> None:
        if self.refuses:
            raise InvalidArgumentError.at("x", self.refuses)
        self.applied.append(configuration.hash)

    def look(self, times: int = 4) -> bool:
        looks = [self.reload.look() for _ in range(times)]
        return any(looks)

    @property
    def success(self) -> float | None:
        return self.metrics.registry.get_sample_value("mooring_config_reload_success")


def weights(file: Path, weight: int = 1, **fields: object) -> str:
    write_config(file, scoring(("NodeResourcesFit", weight)), **fields)
    return read(file.read_text()).hash


@pytest.fixture
def world(tmp_path: Path) -> World:
    weights(tmp_path / "c.yaml")
    return World(tmp_path / "c.yaml")


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


class TestFile:
    def test_an_unchanged_file_changes_nothing(self, world: World) -> None:
        assert not world.look()
        assert (world.applied, world.told, world.success) == ([], [], 1)

    def test_a_new_content_is_in_force_once(self, world: World) -> None:
        found = weights(world.file, 2)
        assert world.look()
        assert (world.applied, world.told) == ([found], [TOOK])
        value = world.metrics.registry.get_sample_value
        assert value("mooring_config_info", {"hash": found}) == 1
        assert value("mooring_config_info", {"hash": world.first.hash}) is None

    def test_a_content_counts_when_two_looks_found_it(self, world: World) -> None:
        weights(world.file, 2)
        assert not world.reload.look()
        weights(world.file, 3)
        assert not world.reload.look()
        assert world.reload.look()
        assert world.applied == [weights(world.file, 3)]

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda file: file.write_text("profiles: ["), id="half written"),
            pytest.param(lambda file: file.write_text(""), id="empty"),
            pytest.param(lambda file: file.write_bytes(b"\xff\xfe"), id="no text"),
            pytest.param(lambda file: file.unlink(), id="removed"),
            pytest.param(piped, id="a pipe"),
            pytest.param(lambda file: os.truncate(file, 1 << 30), id="a gigabyte"),
            pytest.param(lambda file: write_config(file, scoring(("Fti", 1))), id="unknown plugin"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_told_once_and_changes_nothing(
        self, world: World, spoil: Callable[[Path], object], caplog: pytest.LogCaptureFixture
    ) -> None:
        spoil(world.file)
        assert not world.look(10)
        assert (world.applied, world.told, world.success) == ([], [REJECTED], 0)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert world.first.hash in caplog.text
        world.file.unlink(missing_ok=True)
        weights(world.file)
        assert not world.look()
        assert (world.applied, world.success) == ([], 1)

    def test_what_cannot_be_applied_changes_nothing(self, world: World) -> None:
        world.refuses = "restart"
        weights(world.file, 2)
        assert not world.look()
        assert (world.told, world.success) == ([REJECTED], 0)

    def test_a_field_that_only_a_start_reads_is_told(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        weights(world.file, 2, leaderElection={"leaseDuration": "60s"}, parallelism=3)
        assert world.look()
        said = [record.message for record in caplog.records if "next start" in record.message]
        assert [line.split(": ")[1] for line in said] == ["parallelism", "leaderElection"]

    def test_a_config_map_is_replaced_a_hundred_times(self, tmp_path: Path) -> None:
        """As kubelet does it: a link to the file, by a link to the folder, which is swapped."""
        (tmp_path / "0").mkdir()
        hashes = [weights(tmp_path / "0" / "c.yaml", 1)]
        (tmp_path / "data").symlink_to("0")
        (tmp_path / "c.yaml").symlink_to("data/c.yaml")
        world = World(tmp_path / "c.yaml")
        for at in range(1, 101):
            folder = tmp_path / str(at)
            folder.mkdir()
            hashes.append(weights(folder / "c.yaml", 1 + at))
            (tmp_path / "new").symlink_to(str(at))
            (tmp_path / "new").rename(tmp_path / "data")
            assert world.look()
        assert world.applied == hashes[1:]


@pytest.mark.parametrize(("name", "found"), [("me", True), ("other", False)])
def test_its_own_pod_is_found_by_namespace_and_host_name(
    name: str, *, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "me")
    state = State()
    state.replace("test", [make_pod(name, namespace="system")])
    (tmp_path / "namespace").write_text("system\n")
    assert (own_pod(state, tmp_path / "namespace") is not None) == found
    assert own_pod(state, tmp_path / "absent") is None


@pytest.mark.slow
def test_no_call_fails_while_the_file_of_a_server_changes(tmp_path: Path) -> None:
    """Each decision is made by the configuration of before or that of after; a bad file changes nothing."""
    found = reload(tmp_path, changes=4, rate=200)
    assert found.failed == []
    assert in_order(found)
    assert {one for seen in found.seen for one in seen} == set(found.known)
    assert found.rejected == 4


def test_an_earlier_configuration_is_still_known(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    known = [weights(file)]
    with (
        serving("--config", file) as server,
        grpc.insecure_channel(server.address("grpc")) as channel,
    ):
        plugins = PluginServiceStub(channel)
        for weight in (2, 3):
            known.append(weights(tmp_path / "new", weight))
            (tmp_path / "new").replace(file)
            until(
                lambda: plugins.ListProfiles(ListProfilesRequest()).configuration_hash == known[-1],
                "the new configuration",
            )
        earlier = plugins.ListProfiles(ListProfilesRequest(configuration_hash=known[0]))
        now = plugins.ListProfiles(ListProfilesRequest())
        with pytest.raises(grpc.RpcError) as unknown:
            plugins.ListProfiles(ListProfilesRequest(configuration_hash="0"))
    assert [each.hash for each in now.configurations] == known
    assert (earlier.configuration_hash, now.configuration_hash) == (known[0], known[-1])
    assert earlier.profiles[0].configuration_json != now.profiles[0].configuration_json
    assert reason_of(unknown.value) == "CONFIGURATION_NOT_FOUND"
