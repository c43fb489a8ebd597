"""`kubectl mooring`: the context's cluster and namespace, its mooring if there is one, and owners of pods."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mooring.app.contexts import scheduler_pod
from mooring.app.owners import belongs_to, owner_of
from mooring.cli.kubectl import flags_behind
from mooring.cli.main import main
from mooring.cluster.manifests import objects_from
from mooring.documents import write_documents
from mooring.framework import Pod
from mooring.framework.releases import DEFAULT_KUBE_VERSION, Gates, KubeVersion
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, serving, write_manifests
from tests.fake_api_server import FakeApiServer

BIG = {"cpu": "64"}
LABELS = {"app.kubernetes.io/name": "mooring", "app.kubernetes.io/component": "scheduler"}


def owned(name: str, kind: str, owner: str, node: str = "", **labels: str) -> dict[str, object]:
    made = {"kind": kind, "name": owner, "uid": owner, "controller": True, "apiVersion": "apps/v1"}
    return pod_manifest(name, labels=labels, node=node, metadata={"ownerReferences": [made]})


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        pytest.param("explain web", "explain web", id="none"),
        pytest.param("--context foo explain x", "explain x --context foo", id="context"),
        pytest.param("-n prod --context=foo why-pending", "why-pending -n prod --context=foo", id="two"),
        pytest.param("--help", "--help", id="help"),
    ],
)
def test_flags_may_come_before_the_command(given: str, parsed: str) -> None:
    assert flags_behind(given.split()) == parsed.split()


def contexts(path: Path, fake: FakeApiServer, **namespaces: str) -> Path:
    """Return a kubeconfig with a context for each namespace; the first one is the current one."""
    listed = [
        {"name": name, "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        for name, namespace in namespaces.items()
    ]
    path.write_text(
        write_documents(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": next(iter(namespaces)),
                "clusters": [{"name": "c", "cluster": {"server": fake.url}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": listed,
            }
        )
    )
    return path


def as_plugin(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(argv=flags_behind(words), plugin=True)
    return code, capsys.readouterr().out


def test_the_context_names_cluster_and_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeApiServer() as fake:
        fake.add(node_manifest("a"), pod_manifest("web", namespace="prod", requests=BIG))
        fake.add(pod_manifest("api", namespace="test", requests=BIG))
        file = contexts(tmp_path / "config", fake, first="prod", other="test")
        monkeypatch.setenv("KUBECONFIG", str(file))
        assert "web" in as_plugin(capsys, "why-pending")[1]
        assert "api" not in as_plugin(capsys, "why-pending")[1]
        assert "api" in as_plugin(capsys, "--context", "other", "why-pending")[1]
        assert "pod test/api" in as_plugin(capsys, "explain", "api", "--context=other")[1]
        assert "pod test/api" in as_plugin(capsys, "explain", "test/api")[1]
        code, both = as_plugin(capsys, "why-pending", "-A", "-o", "json")
        result = call(capsys, "why-pending", "--kubeconfig", file, "-o", "json")
        assert code == result.code
        assert [each["examples"] for each in json.loads(both)] == [
            each["examples"] for each in result.document
        ]
        result = call(capsys, "why-pending", "--context", "third")
        assert result.code == 1


def ready_pod(name: str, *, ready: bool = True) -> dict[str, object]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    more = {"labels": LABELS, "node": "n", "status": {"conditions": conditions}}
    return pod_manifest(name, namespace="mooring-system", **more)  # type: ignore[arg-type]


def test_the_leading_scheduler_is_found() -> None:
    with FakeApiServer() as fake:
        assert scheduler_pod(fake.client()) is None
        fake.add(ready_pod("m-0", ready=False))
        assert scheduler_pod(fake.client()) is None
        fake.add(ready_pod("m-1"), ready_pod("m-2"))
        assert scheduler_pod(fake.client()) == ("mooring-system", "m-1")
        lease = {"kind": "Lease", "metadata": {"name": "mooring", "namespace": "mooring-system"}}
        fake.add({**lease, "spec": {"holderIdentity": "m-2_1"}})
        assert scheduler_pod(fake.client()) == ("mooring-system", "m-2")
        fake.forbidden.add("pods")
        assert scheduler_pod(fake.client()) is None


def test_a_running_scheduler_is_asked_through_a_forwarded_port(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = write_manifests(
        tmp_path / "known.yaml", node_manifest("only-the-server-knows"), pod_manifest("web")
    )
    with FakeApiServer() as fake, serving("--source", f"files:{known}") as server:
        fake.add(ready_pod("m-0"))
        program = tmp_path / "kubectl"
        address = server.address("grpc")
        says = f'echo "Forwarding from {address} -> 50051"'
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n{says}\nexec sleep 60\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("KUBECONFIG", str(contexts(tmp_path / "config", fake, first="default")))
        assert as_plugin(capsys, "--context", "first", "explain", "web", "-o", "name") == (
            0,
            "node/only-the-server-knows\n",
        )
        called = (tmp_path / "called").read_text()
        assert called == "--context=first --namespace=mooring-system port-forward pod/m-0 :50051\n"


WORKLOADS = [
    (owned("web-7f-a", "ReplicaSet", "web-7f", **{"pod-template-hash": "7f"}), "Deployment", "web"),
    (owned("db-0", "StatefulSet", "db"), "StatefulSet", "db"),
    (owned("night-2890-x", "Job", "night-2890"), "CronJob", "night"),
    (owned("once-x", "Job", "once"), "Job", "once"),
]


@pytest.mark.parametrize(("manifest", "kind", "name"), WORKLOADS, ids=[f"{k} {n}" for _, k, n in WORKLOADS])
def test_owners(manifest: dict[str, object], kind: str, name: str) -> None:
    gates = Gates(KubeVersion.parse(DEFAULT_KUBE_VERSION), {})
    found = objects_from([manifest], gates, settled=True).objects
    (pod,) = [item for item in found if isinstance(item, Pod)]
    assert belongs_to(pod, kind, name)
    assert not belongs_to(pod, kind, "other")
    assert owner_of(pod) == (f"{kind}/{name}" if kind != "CronJob" else "Job/night-2890")


def test_an_owner_stands_for_its_pod_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replicas = {"pod-template-hash": "7f"}
    file = write_manifests(
        tmp_path / "m.yaml",
        node_manifest("a"),
        owned("web-7f-a", "ReplicaSet", "web-7f", node="a", **replicas),
        owned("web-7f-b", "ReplicaSet", "web-7f", **replicas),
        owned("db-0", "StatefulSet", "db"),
    )
    with serving("--source", f"files:{file}") as server:
        for source in (("--manifests", file), ("--server", server.address("grpc"))):
            result = call(capsys, "explain", "deploy/web", *source)
            assert "pod default/web-7f-b" in result.out, result.err
    result = call(capsys, "explain", "deploy/wep", "--manifests", file)
    assert (result.code, "did you mean Deployment/web?" in result.err) == (1, True)
    lines = call(capsys, "schedule", "--by", "owner", "--manifests", file).out.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["default", "Deployment/web", "1", "1"],
        ["default", "StatefulSet/db", "1", "1"],
    ]


def test_shells_complete_words_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    script = call(capsys, "completion", "fish").out
    line = next(each for each in script.splitlines() if "-l output" in each and "schedule" in each)
    for form in ("table", "json", "yaml"):
        assert form in line
    bash = call(capsys, "completion", "bash").out
    assert "_shtab_compgen_files" in bash
