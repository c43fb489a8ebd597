"""The overlays of deploy/, built by kustomize: the real API server finds no fault in them."""

from typing import Any

import pytest

from tests.process import wait_until

from .api import Api, ApiError, Manifest
from .applying import DEPLOY, apply, built, path_of
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e

OVERLAYS = [
    str(file.parent.relative_to(DEPLOY))
    for folder in ("overlays", "examples/systems")
    for file in sorted(DEPLOY.glob(f"{folder}/*/kustomization.yaml"))
]
STRICT = "dryRun=All&fieldValidation=Strict"
WORKLOADS = ("Deployment", "DaemonSet")


def wait_for_priority_classes(api: Api) -> None:
    """The API server makes its own a while after it is ready."""
    wanted = {"system-cluster-critical", "system-node-critical"}

    def made() -> bool:
        found = api.items("/apis/scheduling.k8s.io/v1/priorityclasses")
        return wanted <= {item["metadata"]["name"] for item in found}

    wait_until(made, "the system's priority classes")


def pod_of(workload: Manifest) -> Manifest:
    """Return the pod that a workload would start: its security is judged when it is created."""
    template: dict[str, Any] = workload["spec"]["template"]
    metadata = {**template["metadata"], "name": "judged", "namespace": workload["metadata"]["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_takes_every_object(control_plane: ControlPlane, overlay: str) -> None:
    api, objects = control_plane.api, built(overlay)
    wait_for_priority_classes(api)
    apply(api, [item for item in objects if item["kind"] == "Namespace"])
    judged = [item for item in objects if item["kind"] != "Namespace"]
    judged += [pod_of(item) for item in objects if item["kind"] in WORKLOADS]
    for item in judged:
        made = api.call("POST", f"{path_of(api, item)}?{STRICT}", item)
        assert made["metadata"]["name"] == item["metadata"]["name"]


def test_a_pod_that_breaks_the_rules_is_rejected(control_plane: ControlPlane) -> None:
    """The basis of the test above: the namespace's level of security is enforced, unknown fields found."""
    api, objects = control_plane.api, built("overlays/extender")
    wait_for_priority_classes(api)
    apply(api, [item for item in objects if item["kind"] == "Namespace"])
    pod = pod_of(next(item for item in objects if item["kind"] == "Deployment"))
    for change, status in (({"hostNetwork": True}, 403), ({"hostNetwrok": True}, 400)):
        broken = {**pod, "spec": {**pod["spec"], **change}}
        with pytest.raises(ApiError) as rejected:
            api.call("POST", f"{path_of(api, pod)}?{STRICT}", broken)
        assert rejected.value.status == status
