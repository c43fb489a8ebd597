from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.binding import KubernetesBinder, LocalBinder
from mooring.cluster.state import State
from mooring.framework.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.framework.handle import BindOutcome
from mooring.testing.builders import make_node, make_pod, pod_manifest
from tests.cluster.fake_api import FakeApi, serving

UID = {"uid": "uid-1"}
POD = make_pod("p", metadata=UID)

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: local
contexts:
- {name: local, context: {cluster: local, user: ""}}
clusters:
- {name: local, cluster: {server: "SERVER"}}
"""


def binder_for(api: FakeApi, folder: Path) -> KubernetesBinder:
    """As an operator makes one: from a file, here one without a user."""
    file = folder / "kubeconfig"
    file.write_text(KUBECONFIG.replace("SERVER", api.url))
    return KubernetesBinder.from_kubeconfig(file, timeout_seconds=5)


def stored(**fields: Any) -> dict[str, Any]:
    return pod_manifest("p", **{"metadata": UID, **fields})


def test_a_pod_is_bound_with_its_uid_as_precondition(tmp_path: Path) -> None:
    with serving(FakeApi({"default/p": stored()})) as api:
        assert binder_for(api, tmp_path).bind(POD, "n") is BindOutcome.BOUND
    assert api.pods["default/p"]["spec"]["nodeName"] == "n"
    assert api.bindings[0]["metadata"]["uid"] == "uid-1"
    assert api.bindings[0]["target"]["kind"] == "Node"


@pytest.mark.parametrize(
    ("api", "outcome"),
    [
        pytest.param(
            FakeApi({"default/p": stored(node="n")}), BindOutcome.ALREADY_BOUND, id="bound there already"
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=500, binds_anyway=True),
            BindOutcome.BOUND,
            id="bound, but the answer was an error",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=0, binds_anyway=True),
            BindOutcome.BOUND,
            id="bound, but the answer was lost",
        ),
    ],
)
def test_what_counts_as_bound(api: FakeApi, outcome: BindOutcome, tmp_path: Path) -> None:
    with serving(api):
        assert binder_for(api, tmp_path).bind(POD, "n") is outcome


@pytest.mark.parametrize(
    ("api", "error", "reason", "metadata"),
    [
        pytest.param(FakeApi(), NotFoundError, "POD_NOT_FOUND", {}, id="gone"),
        pytest.param(
            FakeApi({"default/p": stored(node="other")}),
            FailedPreconditionError,
            "POD_BOUND_ELSEWHERE",
            {"node": "other"},
            id="bound elsewhere",
        ),
        pytest.param(
            FakeApi({"default/p": stored(metadata={**UID, "deletionTimestamp": "2026-01-01T00:00:00Z"})}),
            FailedPreconditionError,
            "POD_DELETING",
            {},
            id="being deleted",
        ),
        pytest.param(
            FakeApi({"default/p": stored(spec={"schedulingGates": [{"name": "g"}]})}),
            FailedPreconditionError,
            "POD_GATED",
            {},
            id="gated",
        ),
        pytest.param(
            FakeApi({"default/p": stored(metadata={"uid": "uid-2"})}),
            AbortedError,
            "POD_RECREATED",
            {"uid": "uid-2"},
            id="recreated",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=409),
            UnavailableError,
            "API_SERVER_UNAVAILABLE",
            {},
            id="odd 409",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=429),
            UnavailableError,
            "API_SERVER_UNAVAILABLE",
            {},
            id="too many",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=500),
            UnavailableError,
            "API_SERVER_UNAVAILABLE",
            {},
            id="failed",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=0),
            UnavailableError,
            "API_SERVER_UNAVAILABLE",
            {},
            id="cut off",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=403),
            PermissionDeniedError,
            "FORBIDDEN",
            {},
            id="forbidden",
        ),
        pytest.param(
            FakeApi({"default/p": stored()}, bind_status=422),
            InvalidArgumentError,
            "REQUEST_INVALID",
            {},
            id="refused",
        ),
    ],
)
def test_what_keeps_a_pod_from_being_bound(
    api: FakeApi, error: type[MooringError], reason: str, metadata: dict[str, str], tmp_path: Path
) -> None:
    with serving(api), pytest.raises(error) as raised:
        binder_for(api, tmp_path).bind(POD, "n")
    assert raised.value.reason == reason
    assert metadata.items() <= raised.value.metadata.items()


def test_no_api_server_is_a_clear_error(tmp_path: Path) -> None:
    with serving(FakeApi()) as api:
        binder = binder_for(api, tmp_path)
    with pytest.raises(UnavailableError, match="default/p"):
        binder.bind(POD, "n")


@pytest.mark.parametrize(
    "text", [None, "{", "[]", "kind: Config"], ids=["missing", "no YAML", "a list", "empty"]
)
def test_a_kubeconfig_that_can_not_be_used_is_named(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidArgumentError, match="kubeconfig"):
        KubernetesBinder.from_kubeconfig(file)


def test_outside_of_a_cluster_there_is_no_service_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(InvalidArgumentError, match="no service account"):
        KubernetesBinder.in_cluster()


def test_a_local_binding_is_an_assumption() -> None:
    state = State()
    state.replace("test", [make_node("n"), make_node("m"), POD])
    binder = LocalBinder(state)
    assert binder.bind(POD, "n") is BindOutcome.LOCAL
    assert binder.bind(POD, "n") is BindOutcome.LOCAL
    record = state.snapshot.pods.get("uid-1")
    assert record is not None
    assert (record.pod.spec.node_name, record.assumed) == ("n", True)
    with pytest.raises(FailedPreconditionError):
        binder.bind(POD, "m")
    with pytest.raises(NotFoundError):
        binder.bind(make_pod("q"), "nowhere")


def test_the_kubernetes_package_is_imported_only_when_a_cluster_is_used() -> None:
    code = (
        "import sys, mooring.cluster.binding, mooring.cluster.sources;"
        "sys.exit('kubernetes' in sys.modules or 'grpc' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
