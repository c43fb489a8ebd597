"""Which explanations are kept."""

from __future__ import annotations

import pytest

from mooring.decisions.explanations import ANNOTATION, LARGEST_POD
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.process import until
from tests.service.backends import Direct, sent, world


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        pytest.param(0, 1, id="a small pod"),
        pytest.param(LARGEST_POD, 0, id="a large one"),
    ],
)
def test_the_explanation_of_a_pod_is_kept_unless_the_pod_is_large(size: int, kept: int) -> None:
    pod = make_pod("p", requests={"cpu": "64"}, metadata={"annotations": {ANNOTATION: "x" * size}})
    with world(make_node("n")) as w:
        Direct(w.backend).scheduling.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(pod))]))
        assert w.backend.decisions is not None
        explanations = w.backend.decisions.explanations
        assert explanations is not None
        until(lambda: len(explanations) + explanations.dropped, "the explanation to be packed")
        assert (len(explanations), explanations.dropped) == (kept, 1 - kept)
