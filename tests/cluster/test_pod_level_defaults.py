from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.manifests import pod_from_manifest
from mooring.testing.builders import pod_manifest

HUGE = "hugepages-2Mi"


@pytest.mark.parametrize(
    ("own", "containers", "requests", "limits"),
    [
        pytest.param(
            {"limits": {"cpu": "4", "memory": "1Gi"}},
            [{}],
            {"cpu": "4", "memory": "1Gi"},
            {"cpu": "4", "memory": "1Gi"},
            id="limits become requests",
        ),
        pytest.param(
            {"limits": {"cpu": "4"}},
            [{"requests": {"cpu": "1500m", "memory": "1Ki"}}, {"limits": {"cpu": "1"}}],
            {"cpu": "2500000000n", "memory": 1024},
            {"cpu": "4"},
            id="what the containers request comes first",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}},
            [{"requests": {"cpu": "1", "memory": "1Gi"}}],
            {"cpu": "3"},
            {},
            id="without limits nothing is added",
        ),
        pytest.param(
            {"limits": {"cpu": "4"}, "requests": {"cpu": "3"}},
            [{}],
            {"cpu": "3"},
            {"cpu": "4"},
            id="complete",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [{"limits": {HUGE: "2Mi"}}, {"limits": {HUGE: "4Mi"}, "requests": {"memory": "1Ki"}}],
            {"cpu": "1", HUGE: 6 << 20, "memory": 1024},
            {HUGE: 6 << 20},
            id="limits of huge pages come from the containers, and requests with them",
        ),
        pytest.param(
            {"requests": {HUGE: "8Mi"}},
            [{"limits": {HUGE: "2Mi"}}],
            {HUGE: "8Mi"},
            {},
            id="a request for huge pages stands",
        ),
        pytest.param(
            {"limits": {"cpu": "1"}},
            [{"requests": {"ephemeral-storage": "1Gi", "example.com/gpu": "1"}}],
            {"cpu": "1"},
            {"cpu": "1"},
            id="other resources are the containers' alone",
        ),
        pytest.param({}, [{"limits": {"cpu": "1", HUGE: "2Mi"}}], {}, {}, id="empty"),
    ],
)
def test_pod_level_resources_are_completed(
    own: dict[str, Any], containers: list[dict[str, Any]], requests: dict[str, Any], limits: dict[str, Any]
) -> None:
    listed = [{"name": f"c{at}", "resources": resources} for at, resources in enumerate(containers)]
    spec = {"containers": listed, "resources": own, "overhead": {"cpu": "1", "memory": "1Gi"}}
    resources = pod_from_manifest(pod_manifest(spec=spec)).spec.resources
    assert resources is not None
    assert resources.requests == requests
    assert resources.limits == limits


def test_sidecars_and_init_containers_count_in_what_a_pod_level_request_is_completed_from() -> None:
    asks = {"resources": {"requests": {"cpu": "2"}, "limits": {HUGE: "2Mi"}}}
    spec = {
        "initContainers": [{"name": "s", "restartPolicy": "Always", **asks}, {"name": "i", **asks}],
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        "resources": {"limits": {"memory": "1Gi"}},
    }
    resources = pod_from_manifest(pod_manifest(spec=spec)).spec.resources
    assert resources is not None
    assert resources.requests == {"cpu": 4, "memory": "1Gi", HUGE: 4 << 20}
