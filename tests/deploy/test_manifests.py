"""The manifests of deploy/: they say what the programs understand, ask for few rights, and run confined."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import mooring
from mooring.app.doctor.rights import BINDING, SCHEDULING
from mooring.cluster.api.resources import RESOURCES
from mooring.plugins.in_tree import IN_TREE
from tests.cli.commands import ROOT, call

DEPLOY = ROOT / "deploy"
CONFIGURATIONS = sorted(DEPLOY.glob("overlays/*/config.yaml"))
PAGE = DEPLOY / "components/web/page.yaml"
"""The patch of the second scheduler's pod, which has no identity and no volumes of its own."""
FOUND = sorted(
    file
    for folder in ("base", "components", "overlays")
    for file in (DEPLOY / folder).rglob("*.yaml")
    if file.name not in ("config.yaml", "kube-scheduler.yaml", "kustomization.yaml")
)
MANIFESTS = [file for file in FOUND if file != PAGE]
READ = ["get", "list", "watch"]
Manifest = dict[str, Any]


def documents(file: Path) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(file.read_text()) if document]


def objects(*kinds: str) -> Iterator[Manifest]:
    for file in MANIFESTS:
        yield from (document for document in documents(file) if document["kind"] in kinds)


def pods() -> Iterator[tuple[str, Manifest]]:
    """Folder and spec of each pod that the overlays start."""
    for file in MANIFESTS:
        for document in documents(file):
            if document["kind"] in ("Deployment", "DaemonSet"):
                yield file.parent.name, document["spec"]["template"]["spec"]
            elif document["kind"] == "Pod":
                yield file.parent.name, document["spec"]


PODS = dict(pods())
(PATCHED,) = (document["spec"]["template"]["spec"] for document in documents(PAGE))
CONTAINERS = [
    pytest.param(container, id=f"{overlay}: {container['name']}")
    for overlay, spec in [*PODS.items(), ("web", PATCHED)]
    for container in spec["containers"]
    if "image" in container
]
PROGRAMS = [
    pytest.param(container, id=f"{file.parent.name}: {container['name']}")
    for file in (*FOUND, *DEPLOY.glob("examples/systems/*/*.yaml"))
    for document in documents(file)
    for container in document.get("spec", {}).get("template", document).get("spec", {}).get("containers", ())
    if container.get("command", [""])[0] in ("mooring", "mooring-extender")
]


def test_all_of_them_are_found() -> None:
    assert PODS.keys() == {"extender", "extender-loopback", "second-scheduler", "replace-default"}


def test_every_manifest_is_part_of_a_kustomization() -> None:
    for file in FOUND:
        built = yaml.safe_load((file.parent / "kustomization.yaml").read_text())
        patches = [each.get("path") for each in built.get("patches", ())]
        assert file.name in (patches if file == PAGE else built["resources"])


@pytest.mark.parametrize("container", PROGRAMS)
def test_flags_are_known(container: Manifest, capsys: pytest.CaptureFixture[str]) -> None:
    program, *words = container["command"]
    if program == "mooring":
        known = call(capsys, *words, "--help").out
    else:
        from mooring_extender.cli import main

        with pytest.raises(SystemExit):
            main([*words, "--help"])
        known = capsys.readouterr().out
    flags = [argument.partition("=")[0] for argument in container["args"]]
    assert [flag for flag in flags if not re.search(rf"(?<!\S){flag}\b", known)] == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_probes_ask_where_the_program_listens(container: Manifest) -> None:
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", ())}
    listening = {int(port) for argument in container["args"] for port in re.findall(r":(\d+)$", argument)}
    if container["command"] == ["mooring", "scheduler"]:
        listening.add(10259)
    assert set(ports.values()) <= listening
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container.get(probe, {})
        for way in ("httpGet", "grpc", "tcpSocket"):
            if way in asked:
                assert ports.get(asked[way]["port"], asked[way]["port"]) in listening
    assert "readinessProbe" in container
    assert "livenessProbe" in container


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_are_confined(container: Manifest) -> None:
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}
    mounts = [mount for mount in container.get("volumeMounts", ()) if not mount.get("readOnly")]
    assert [mount["mountPath"] for mount in mounts] in ([], ["/run/mooring"])


@pytest.mark.parametrize(("overlay", "spec"), PODS.items(), ids=PODS)
def test_pods_are_confined(overlay: str, spec: Manifest) -> None:
    context = spec["securityContext"]
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    on_host = overlay in ("extender-loopback", "replace-default")
    assert spec.get("hostNetwork", False) is on_host
    as_root = overlay == "replace-default"
    assert (context["runAsUser"] == 0) is as_root
    assert context.get("runAsNonRoot", False) is not as_root
    hosts = [volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume]
    assert bool(hosts) is as_root
    if on_host:
        addresses = [argument for argument in spec["containers"][0]["args"] if "listen=" in argument]
        assert all("=127.0.0.1:" in address for address in addresses)


MEBI = 1 << 20
BODY_IN_MEMORY = 13
"""How many times its size a body of names takes in the adapter's memory."""


def flag(container: Manifest, name: str) -> str:
    """Return the value of a flag in the arguments; "" if they don't have it."""
    found = [
        argument.partition("=")[2] for argument in container["args"] if argument.startswith(f"--{name}=")
    ]
    return found[0] if found else ""


def local(address: str) -> bool:
    return not address or address.startswith(("unix:", "127.0.0.1"))


@pytest.mark.parametrize("container", CONTAINERS)
def test_off_loopback_nothing_is_answered_without_authentication(container: Manifest) -> None:
    if container["command"] == ["mooring", "serve"]:
        for name in ("listen", "metrics-listen", "extender-listen"):
            assert local(flag(container, name))
    elif container["command"] == ["mooring-extender"]:
        assert local(flag(container, "listen")) or flag(container, "client-ca-file")
        limit = int(container["resources"]["limits"]["memory"].removesuffix("Mi")) * MEBI
        assert int(flag(container, "max-body-bytes")) * BODY_IN_MEMORY <= limit // 2
    elif container["command"] == ["mooring", "web"]:
        assert local(flag(container, "listen"))
        assert not any(name in argument for argument in container["args"] for name in ("tls", "insecure"))
    else:
        assert container["command"] == ["mooring", "scheduler"]
        assert not [one for one in container["args"] if one.startswith("--authorization-always-allow-paths")]


def test_kube_scheduler_shows_a_certificate_where_a_network_is_between_and_wherever_mooring_binds() -> None:
    files = [*DEPLOY.glob("overlays/*/kube-scheduler.yaml"), *DEPLOY.glob("examples/**/scheduler.yaml")]
    stanzas = [stanza for file in files for stanza in yaml.safe_load(file.read_text())["extenders"]]
    secured = [
        stanza
        for stanza in stanzas
        if "bindVerb" in stanza or not local(stanza["urlPrefix"].partition("://")[2])
    ]
    assert len(secured) >= 4
    for stanza in secured:
        assert stanza["urlPrefix"].startswith("https://")
        assert stanza["enableHTTPS"]
        assert {"caFile", "certFile", "keyFile", "serverName"} == stanza["tlsConfig"].keys()


def test_where_mooring_binds_on_loopback_it_does_so_for_a_name() -> None:
    (container,) = PODS["extender-loopback"]["containers"]
    assert flag(container, "allow-client") == "cn:kube-scheduler"
    assert all(flag(container, f"extender-{name}") for name in ("tls-cert-file", "client-ca-file"))


def test_the_token_is_mounted_where_the_api_server_is_asked() -> None:
    spec = PODS["extender"]
    assert spec["automountServiceAccountToken"] is False
    mounted = {
        container["name"]: any("serviceaccount" in mount["mountPath"] for mount in container["volumeMounts"])
        for container in spec["containers"]
    }
    assert mounted == {"mooring": True, "adapter": False}
    assert all(len(spec["containers"]) == 1 for overlay, spec in PODS.items() if overlay != "extender")


def test_the_page_has_no_rights() -> None:
    assert PATCHED["automountServiceAccountToken"] is False
    mounted = {container["name"]: container.get("volumeMounts", []) for container in PATCHED["containers"]}
    assert mounted["page"] == []
    token = PODS["extender"]["volumes"]
    assert PATCHED["volumes"] == [volume for volume in token if volume["name"] == "token"]
    assert [mount["name"] for mount in mounted["scheduler"]] == ["token"]


def test_the_page_asks_the_scheduler_beside_it() -> None:
    (page,) = [container for container in PATCHED["containers"] if container["name"] == "page"]
    (scheduler,) = PODS["second-scheduler"]["containers"]
    assert flag(page, "server") == f"scheduler={flag(scheduler, 'grpc-listen')}"


NOBODYS = ipaddress.ip_network("192.0.2.0/24")
"""RFC 5737: for documents alone."""


def test_no_network_is_let_in_or_out_that_nobody_named() -> None:
    policies = list(objects("NetworkPolicy"))
    rules = [
        (rule, side)
        for policy in policies
        for side, key in (("from", "ingress"), ("to", "egress"))
        for rule in policy["spec"].get(key, ())
    ]
    assert len(policies) == 4
    assert len(rules) == 5
    for rule, side in rules:
        assert rule["ports"]
        assert [ipaddress.ip_network(peer["ipBlock"]["cidr"]) for peer in rule[side]] == [NOBODYS]


def test_the_image_is_of_this_version() -> None:
    for file in DEPLOY.glob("overlays/*/kustomization.yaml"):
        images = yaml.safe_load(file.read_text())["images"]
        assert images == [{"name": "mooring", "newTag": mooring.__version__}]
    used = {container["image"] for spec in PODS.values() for container in spec["containers"]}
    assert used == {"mooring"}


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((DEPLOY / "chart" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (mooring.__version__, mooring.__version__)


def test_the_board_says_what_each_panel_shows_and_leads_to_the_page() -> None:
    board = json.loads((DEPLOY / "chart" / "monitoring" / "board.json").read_text())
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert [panel["title"] for panel in panels if not panel["description"].endswith(".")] == []
    assert {panel["type"] for panel in panels[:4]} == {"stat"}
    (link,) = board["links"]
    assert link["url"] == "${page}"
    assert "page" in [variable["name"] for variable in board["templating"]["list"]]


def rights(name: str) -> dict[tuple[str, str], list[str]]:
    """By API group and resource, what a role allows."""
    (role,) = [role for role in objects("ClusterRole", "Role") if role["metadata"]["name"] == name]
    allowed: dict[tuple[str, str], list[str]] = {}
    for rule in role["rules"]:
        assert len(rule["apiGroups"]) == 1
        names = rule.get("resourceNames", [""])
        for resource in rule["resources"]:
            for one in names:
                allowed[rule["apiGroups"][0], f"{resource}{one and f'/{one}'}"] = rule["verbs"]
    return allowed


def test_the_reader_may_read_what_plugins_read_and_nothing_but_daemon_sets_besides() -> None:
    kinds = {"Node", "Pod", "DaemonSet"} | {kind.__name__ for plugin in IN_TREE for kind in plugin.reads}
    read = {
        (version.rpartition("/")[0], RESOURCES[kind].plural): READ
        for kind in kinds
        for version in RESOURCES[kind].versions[:1]
    }
    assert rights("mooring-reader") == read


def test_who_binds_may_write_what_a_binding_needs_and_nothing_else() -> None:
    assert rights("mooring-binder") == {on: list(verbs) for on, verbs in BINDING.items()}
    assert rights("mooring-lease") == {
        ("coordination.k8s.io", "leases"): ["create"],
        ("coordination.k8s.io", "leases/mooring"): ["get", "update"],
    }
    assert rights("mooring-scheduler") == {on: list(verbs) for on, verbs in SCHEDULING.items()}


def test_an_extender_that_does_not_bind_has_no_right_to() -> None:
    built = yaml.safe_load((DEPLOY / "overlays" / "extender" / "kustomization.yaml").read_text())
    assert "components" not in built
    stanza = yaml.safe_load((DEPLOY / "overlays" / "extender" / "kube-scheduler.yaml").read_text())
    assert "bindVerb" not in stanza["extenders"][0]


ROLES = {
    "mooring-extender": {"mooring-reader"},
    "mooring-extender-loopback": {"mooring-reader", "mooring-binder"},
    "mooring-scheduler": {"mooring-reader", "mooring-binder", "mooring-lease", "mooring-scheduler"},
}
"""By ServiceAccount, its roles."""


def test_each_part_has_an_account_with_no_more_roles_than_it_needs() -> None:
    """Two overlays applied together give neither account the rights of the other."""
    accounts = {account["metadata"]["name"] for account in objects("ServiceAccount")}
    used = [spec["serviceAccountName"] for spec in PODS.values() if "serviceAccountName" in spec]
    assert (accounts, sorted(used)) == (set(ROLES), sorted(ROLES))
    bound: dict[str, set[str]] = {account: set() for account in accounts}
    names = []
    for binding in objects("ClusterRoleBinding", "RoleBinding"):
        (subject,) = binding["subjects"]
        assert (subject["kind"], subject["namespace"]) == ("ServiceAccount", "mooring-system")
        bound[subject["name"]].add(binding["roleRef"]["name"])
        names.append((binding["kind"], binding["metadata"]["name"]))
    assert bound == ROLES
    assert len(set(names)) == len(names), (
        "of two bindings with one name the later one would replace the other"
    )


def test_no_token_goes_to_whom_nobody_has_checked() -> None:
    (monitor,) = objects("PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["authorization"]
    assert endpoint["tlsConfig"].keys() == {"ca", "serverName"}
    for file in DEPLOY.rglob("*.yaml"):
        assert "insecureSkipVerify" not in file.read_text(), file


def test_network_policies_of_the_chart_are_on_until_somebody_switches_them_off() -> None:
    values = yaml.safe_load((DEPLOY / "chart" / "values.yaml").read_text())
    assert values["networkPolicy"]["enabled"] is True


def selected(labels: Manifest) -> bool:
    """Return whether a pod of the overlays has these labels."""
    kinds = ("Deployment", "DaemonSet")
    templates = [item["spec"]["template"]["metadata"]["labels"] for item in objects(*kinds)]
    return any(labels.items() <= template.items() for template in templates)


def test_selectors_select() -> None:
    for item in objects("Deployment", "DaemonSet", "PodDisruptionBudget"):
        assert selected(item["spec"]["selector"]["matchLabels"]), item["metadata"]
    for item in objects("NetworkPolicy"):
        assert selected(item["spec"]["podSelector"]["matchLabels"]), item["metadata"]
    for item in objects("Service"):
        assert selected(item["spec"]["selector"]), item["metadata"]


@pytest.mark.parametrize("file", CONFIGURATIONS, ids=lambda file: file.parent.name)
def test_configurations_are_valid(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = file.with_name("kube-scheduler.yaml")
    behind = ["--extenders", theirs] if theirs.exists() else []
    result = call(capsys, "config", "check", "--strict", *behind, file)
    assert (result.code, result.out) == (0, "ok\n"), result.err


@pytest.mark.parametrize("file", CONFIGURATIONS, ids=lambda file: file.parent.name)
def test_no_overlay_runs_a_plugin_that_only_demonstrates(file: Path) -> None:
    assert "nodeFilter" not in file.read_text()


def test_stanzas_name_the_address_that_answers() -> None:
    (service,) = objects("Service")
    stanza = yaml.safe_load((DEPLOY / "overlays" / "extender" / "kube-scheduler.yaml").read_text())
    port = service["spec"]["ports"][0]["port"]
    assert stanza["extenders"][0]["urlPrefix"] == f"https://{service['spec']['clusterIP']}:{port}"
    # All calls of a kube-scheduler are one replica's, which knows the pods in flight.
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    loopback = yaml.safe_load((DEPLOY / "overlays" / "extender-loopback" / "kube-scheduler.yaml").read_text())
    address = loopback["extenders"][0]["urlPrefix"].removeprefix("https://")
    assert f"--extender-listen={address}" in PODS["extender-loopback"]["containers"][0]["args"]
