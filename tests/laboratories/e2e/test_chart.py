"""The Helm chart: it renders what the overlays have, and Helm installs, upgrades and reverts it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.process import run

from . import objects
from .api import Manifest
from .applying import DEPLOY, apply, built, identity, path_of, path_to, scheduling, start
from .build import BIN
from .control_plane import ControlPlane
from .guarded import GuardedControlPlane
from .test_deploy import STRICT, WORKLOADS, pod_of, wait_for_priority_classes

pytestmark = pytest.mark.e2e

CHART = DEPLOY / "chart"
VALUES = sorted(CHART.glob("ci/*-values.yaml"))
NETWORKS = "--values=" + str(CHART / "ci" / "second-scheduler-values.yaml")
"""Names of networks, without which nothing is rendered."""

ADDRESS = "--set=extender.clusterIP=10.0.0.53"
"""In our control plane's range, as `built` moves that of the overlays."""

OF_HELM = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
    "checksum/config",
}
"""Labels and annotations that only a chart's objects have."""


def helm(*arguments: str | Path) -> str:
    return run(BIN / "helm", *arguments)


def rendered(*arguments: str | Path, name: str = "mooring") -> list[Manifest]:
    """Return the chart's manifests as a release in mooring-system."""
    text = helm("template", name, CHART, "--namespace=mooring-system", *arguments)
    return [document for document in yaml.safe_load_all(text) if document]


def compared(manifests: list[Manifest]) -> dict[tuple[str, str], Any]:
    """By kind and name; without what only Helm or only kustomize adds."""
    text = re.sub(r"mooring-config-\w{10}\b", "mooring-config", json.dumps(manifests))
    found = json.loads(text, object_hook=_without_helm)
    for item in found:
        if item["kind"] == "ConfigMap":
            item["data"] = {file: yaml.safe_load(content) for file, content in item["data"].items()}
    return {
        (item["kind"], item["metadata"]["name"]): item
        for item in found
        if item["kind"] != "Namespace"  # helm install --create-namespace
    }


def _without_helm(value: dict[str, Any]) -> dict[str, Any]:
    kept = {key: inner for key, inner in value.items() if key not in OF_HELM}
    return {key: inner for key, inner in kept.items() if not (key == "annotations" and inner == {})}


@pytest.mark.parametrize(
    "overlay", ["second-scheduler", "second-scheduler-web", "extender", "extender-loopback"]
)
def test_it_renders_what_the_overlay_has(overlay: str) -> None:
    chart = compared(rendered(f"--values={CHART}/ci/{overlay}-values.yaml", ADDRESS))
    assert chart == compared(built(f"overlays/{overlay}"))


@pytest.mark.parametrize("values", VALUES, ids=lambda file: file.name)
def test_lint_finds_no_fault(values: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", CHART, "--strict", f"--values={values}")


@pytest.mark.parametrize("values", VALUES, ids=lambda file: file.name)
def test_the_api_server_takes_every_object(control_plane: ControlPlane, values: Path) -> None:
    api, made = control_plane.api, rendered(f"--values={values}", ADDRESS, name="other")
    wait_for_priority_classes(api)
    level = "privileged" if "loopback" in values.name else "restricted"
    labels = {"pod-security.kubernetes.io/enforce": level}
    namespace = {"name": "mooring-system", "labels": labels}
    apply(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}])
    for item in [*made, *(pod_of(item) for item in made if item["kind"] in WORKLOADS)]:
        answer = api.call("POST", f"{path_of(api, item)}?{STRICT}", item)
        assert answer["metadata"]["name"] == item["metadata"]["name"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set=mode=serve"], "mode"),
        (["--set=replica=3"], "replica"),
        (["--set=mode=extender"], "profiles"),
        (["--set=extraArgs={verbose}"], "extraArgs"),
        (["--set=image.digest=latest"], "digest"),
        (["--set=config.kind=KubeSchedulerConfiguration"], "config"),
        (["--set=podMonitor.interval=soon"], "interval"),
        (["--set=mode=extender", "--set=podMonitor.enabled=true"], "podMonitor"),
        (["--set=mode=extender", "--set=web.enabled=true"], "web"),
        (["--set=web.enabled=true", "--set=web.listen=0.0.0.0:80"], "listen"),
        (["--set=monitoring.rules.runbookUrl=docs/alerts.md"], "runbookUrl"),
        (["--set=monitoring.board.pageUrl=10.0.0.1"], "pageUrl"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_values_that_are_wrong_are_rejected_by_name(arguments: list[str], said: str) -> None:
    with pytest.raises(RuntimeError, match=rf"don't meet the specifications(.|\n)*{said}"):
        rendered(*arguments)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        pytest.param([], {"apiServers", "clients"}, id="second-scheduler"),
        pytest.param(["--set=web.enabled=true"], {"apiServers", "clients", "nodes"}, id="with the page"),
        pytest.param(["--set=mode=extender"], {"apiServers", "clients", "nodes"}, id="extender"),
        pytest.param(["--set=mode=extender-loopback"], {"apiServers"}, id="extender-loopback"),
    ],
)
def test_networks_that_nobody_named_are_asked_for(arguments: list[str], missing: set[str]) -> None:
    profiles = "--set=config.profiles[0].schedulerName=default-scheduler"
    with pytest.raises(RuntimeError) as rejection:
        rendered(profiles, *arguments)
    assert set(re.findall(r"networkPolicy[./](\w+)", str(rejection.value))) == missing
    rendered(profiles, *arguments, "--set=networkPolicy.enabled=false")


def test_the_prometheus_operator_is_told_what_the_component_tells_it() -> None:
    values = [NETWORKS, "--set=podMonitor.enabled=true", "--set=podMonitor.labels.release=prometheus"]
    (made,) = [item for item in rendered(*values) if item["kind"] == "PodMonitor"]
    there = yaml.safe_load((DEPLOY / "components/pod-monitor/pod-monitor.yaml").read_text())
    selected = made["spec"]["selector"]["matchLabels"]
    assert selected.items() >= there["spec"]["selector"]["matchLabels"].items()
    assert made["spec"]["podMetricsEndpoints"] == there["spec"]["podMetricsEndpoints"]
    assert made["metadata"]["labels"]["release"] == "prometheus"
    (pods,) = [item["spec"]["template"] for item in rendered(*values) if item["kind"] == "Deployment"]
    assert pods["metadata"]["labels"].items() >= selected.items()
    (container,) = pods["spec"]["containers"]
    assert [port["name"] for port in container["ports"]] == ["telemetry"]
    # Prometheus checks the certificate that the pods show.
    assert [mount["name"] for mount in container["volumeMounts"]] == ["config", "tls"]
    shown = [one["secret"]["secretName"] for one in pods["spec"]["volumes"] if "secret" in one]
    (endpoint,) = made["spec"]["podMetricsEndpoints"]
    assert [endpoint["tlsConfig"]["ca"]["secret"]["name"]] == shown


@pytest.mark.parametrize("url", ["", "https://git.example/mooring/docs/alerts.md"], ids=["no link", "link"])
def test_rules_and_board_are_the_files_with_their_links(url: str) -> None:
    page = "https://mooring.example/"
    on = ["--set=monitoring.rules.enabled=true", "--set=monitoring.board.enabled=true"]
    links = [f"--set=monitoring.rules.runbookUrl={url}", f"--set=monitoring.board.pageUrl={page}"]
    made = {item["kind"]: item for item in rendered(NETWORKS, *on, *links)}
    files = CHART / "monitoring"
    rules = yaml.safe_load((files / "alerts.yaml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    for rule in alerts:
        there = rule["annotations"].pop("runbook_url")
        if url:
            rule["annotations"]["runbook_url"] = there.replace("docs/alerts.md", url)
    assert made["PrometheusRule"]["spec"] == rules
    board = (files / "board.json").read_text().replace("http://localhost:50054", page)
    boards = [item["data"] for item in rendered(NETWORKS, *on, *links) if item["kind"] == "ConfigMap"]
    assert [json.loads(data["mooring.json"]) for data in boards if "mooring.json" in data] == [
        json.loads(board)
    ]


def test_own_plugins_and_images_arrive_in_the_pod() -> None:
    made = rendered(f"--values={CHART}/ci/own-plugin-values.yaml")
    (deployment,) = [item for item in made if item["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"].startswith("registry.example:5000/team/mooring@sha256:")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert "--plugin=rack_affinity:RackAffinity" in container["args"]
    assert {"name": "plugins", "configMap": {"name": "rack-affinity"}} in spec["volumes"]
    assert {"name": "plugins", "mountPath": "/opt/plugins", "readOnly": True} in container["volumeMounts"]


@pytest.mark.usefixtures("four_nodes")
def test_install_upgrade_rollback(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """After the installation it schedules with the rights in the chart; upgrade and rollback change the
    pods.
    """
    api, admin = guarded.api, f"--kubeconfig={guarded.kubeconfig('admin')}"
    release = ("mooring", "--namespace=mooring-system", admin)

    def deployed() -> tuple[Any, Any]:
        """Return the configuration's profiles, and the pods' template."""
        config, deployment = (
            api.call("GET", path_to(api, item))
            for kind in ("ConfigMap", "Deployment")
            for item in made
            if item["kind"] == kind
        )
        profiles = yaml.safe_load(config["data"]["config.yaml"])["profiles"]
        return profiles, deployment["spec"]["template"]

    made = rendered(NETWORKS)
    helm("install", *release[:1], CHART, *release[1:], NETWORKS, "--create-namespace")
    first = deployed()
    assert first[0] == [{"schedulerName": "mooring"}]
    account = identity(guarded, "mooring-system", "mooring-scheduler")
    with start("scheduler", made, tmp_path, scheduling(account)):
        api.create(objects.pod("p", schedulerName="mooring"))
        api.wait_bound("p")

    profile = "--set=config.profiles[0].schedulerName=other"
    helm("upgrade", *release[:1], CHART, *release[1:], NETWORKS, profile)
    second = deployed()
    assert second[0] == [{"schedulerName": "other"}]
    assert second[1] != first[1]

    helm("rollback", *release)
    assert deployed() == first
    history = json.loads(helm("history", *release, "--output=json"))
    assert [one["status"] for one in history] == ["superseded", "superseded", "deployed"]

    helm("uninstall", *release)
    for kind in ("deployments", "configmaps"):
        group = "/apis/apps/v1" if kind == "deployments" else "/api/v1"
        left = api.items(f"{group}/namespaces/mooring-system/{kind}")
        assert [one["metadata"]["name"] for one in left if "mooring" in one["metadata"]["name"]] == []
