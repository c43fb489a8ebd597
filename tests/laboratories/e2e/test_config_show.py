"""`mooring config show` writes what the kube-scheduler of the release writes for the same file."""

import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.cli import main
from tests.config.random_configs import random_configuration
from tests.process import run

from . import processes
from .build import KUBERNETES, RELEASE, ROOT, SKEWED_RELEASE, kubernetes

pytestmark = pytest.mark.e2e

SYSTEMS = sorted((ROOT / "tests" / "config" / "testdata" / "seeds").iterdir())
OUT_OF_TREE = {"HelloWorldPlugin", "NetworkTraffic", "UnderlayIP", "example", "nodeFilter"}
RANDOM_COUNT = 100
RELEASES = [
    release
    for release in KUBERNETES
    if release in {RELEASE, SKEWED_RELEASE} or kubernetes("kube-scheduler", release).exists()
]
"""The releases with a control plane, and others if their kube-scheduler has been built."""
releases = pytest.mark.parametrize("release", RELEASES)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a kubeconfig that kube-scheduler can load; it writes its configuration without any call."""
    cluster = {"name": "none", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "none", "context": {"cluster": "none", "user": ""}}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "contexts": [context],
        "current-context": "none",
    }
    file = tmp_path_factory.mktemp("config") / "kubeconfig"
    file.write_text(json.dumps(document))
    return file


def written_by_kube_scheduler(config: Path, release: str) -> dict[str, Any]:
    target = config.with_suffix(".written")
    flags = ("--authentication-skip-lookup", "--secure-port=0")
    run(kubernetes("kube-scheduler", release), *flags, "--config", config, "--write-config-to", target)
    written: dict[str, Any] = yaml.safe_load(target.read_text())
    return written


def shown_by_mooring(config: Path, release: str) -> dict[str, Any]:
    """Return the command's output, called in this process: starting a hundred would take a minute."""
    output = io.StringIO()
    with redirect_stdout(output):
        assert main(argv=["config", "show", str(config), "--kube-version", release]) == 0
    shown: dict[str, Any] = yaml.safe_load(output.getvalue())
    return shown


def without_out_of_tree(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without the plugins that kube-scheduler does not have."""
    for profile in document.get("profiles", []):
        for point in profile.get("plugins", {}).values():
            enabled = point.get("enabled", [])
            point["enabled"] = [plugin for plugin in enabled if plugin["name"] not in OUT_OF_TREE]
        arguments = profile.get("pluginConfig", [])
        profile["pluginConfig"] = [entry for entry in arguments if entry["name"] not in OUT_OF_TREE]
    return document


def saved(document: dict[str, Any], kubeconfig: Path, target: Path) -> Path:
    """Write the document, with a kubeconfig because kube-scheduler wants one."""
    connection = {**document.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
    target.write_text(json.dumps({**document, "clientConnection": connection}))
    return target


@releases
@pytest.mark.parametrize("file", SYSTEMS, ids=lambda file: file.stem)
def test_configurations_of_known_systems(file: Path, release: str, kubeconfig: Path, tmp_path: Path) -> None:
    converted = yaml.safe_load(processes.mooring("config", "convert", file))
    assert converted["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    config = saved(without_out_of_tree(converted), kubeconfig, tmp_path / "config.json")
    assert shown_by_mooring(config, release) == written_by_kube_scheduler(config, release)


@releases
def test_random_configurations(release: str, kubeconfig: Path, tmp_path: Path) -> None:
    configs = [
        saved(random_configuration(seed, release), kubeconfig, tmp_path / f"{seed}.json")
        for seed in range(RANDOM_COUNT)
    ]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        written = list(pool.map(partial(written_by_kube_scheduler, release=release), configs))
    shown = [shown_by_mooring(config, release) for config in configs]
    differing = [
        config.read_text()
        for config, theirs, ours in zip(configs, written, shown, strict=True)
        if theirs != ours
    ]
    assert differing == []
