"""The board of deploy/: a real Prometheus scrapes a server and a scheduler, and each panel has data."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.process import run, wait_until
from tools.write_board import BOARD, main

from . import objects
from .build import BIN, ROOT
from .control_plane import ControlPlane
from .processes import MooringScheduler, MooringServer
from .prometheus import Prometheus

pytestmark = pytest.mark.e2e

PANELS = {
    panel["title"]: panel["targets"][0]["expr"].replace("$__rate_interval", "1m").replace("$job", ".+")
    for panel in json.loads(BOARD.read_text())["panels"]
    if panel["type"] != "row"
}
CONFIG = {
    "leaderElection": {"leaderElect": True, "resourceName": "board", "resourceNamespace": "kube-system"},
    "profiles": [{"schedulerName": "default-scheduler"}],
}
RULE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"filter": {"enabled": [{"name": "NoMaintenance"}]}}}],
}


def test_the_file_is_what_its_source_says() -> None:
    assert main(["--check"]) == 0, "run `python tools/write_board.py`"


def shown(series: list[Any]) -> bool:
    """Return whether a series has a value; a quantile without observations has none."""
    return any(one["value"][1] != "NaN" for one in series)


def test_every_panel_has_data_under_load_and_no_error_on_an_idle_server(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "rules"))
    api = control_plane.api
    api.create(objects.node("n"))
    call = [str(BIN / "ghz"), "--config", str(ROOT / "deploy" / "load" / "schedule.json")]
    with (
        MooringServer(tmp_path, RULE, "--plugin", "labelled:NoMaintenance", source="sample") as server,
        MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), CONFIG) as scheduler,
        Prometheus(
            tmp_path, [server.metrics_address], [scheduler.telemetry.removeprefix("https://")]
        ) as prometheus,
    ):
        wait_until(lambda: len(prometheus.query("mooring_build_info")) == 2, "both to be scraped")
        for query in PANELS.values():
            prometheus.query(query)
        number = 0

        def silent() -> list[str]:
            """Return the panels without data, after some more pods and calls."""
            nonlocal number
            for _ in range(3):
                number += 1
                api.create(objects.pod(f"p-{number}"))
            api.create(objects.pod(f"large-{number}", containers=[objects.container(cpu="1000")]))
            run(*call, server.address, directory=ROOT)
            return [title for title, query in PANELS.items() if not shown(prometheus.query(query))]

        wait_until(lambda: not silent(), "every panel to have data")
