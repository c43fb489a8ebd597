"""A pod is its kind and what is its own, and nothing else."""

from weakref import ref

import pytest

from mooring.cluster.pod_kinds import PodKinds
from mooring.framework.objects import Pod
from mooring.framework.pod_affinity import AffinityTerms, affinity_terms
from mooring.framework.pod_table import UNPLACED, PodRecord, template_of
from mooring.framework.resources import NEWEST_RULES
from mooring.testing.builders import make_pod

KINDS = PodKinds(NEWEST_RULES)


def pod(name: str = "pod", app: str = "web", *, placed: bool = False) -> Pod:
    return make_pod(
        name,
        labels={"app": app},
        node="node-1" if placed else "",
        requests={"cpu": "100m"},
        metadata={"uid": "u1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
        status={"phase": "Running", **({"startTime": "2026-01-01T00:00:01Z"} if placed else {})},
    )


@pytest.mark.parametrize(
    "whole", [pytest.param(pod(), id="pending"), pytest.param(pod(placed=True), id="placed")]
)
def test_a_record_gives_back_its_pod(whole: Pod) -> None:
    assert PodRecord.of(whole, KINDS.of(whole), UNPLACED).pod == whole


def test_a_kind_lives_as_long_as_it_is_used() -> None:
    kinds = PodKinds(NEWEST_RULES)
    used = kinds.of(pod("used", app="used"))
    others = [ref(kinds.of(pod(app=f"app-{number}"))) for number in range(1_000)]
    assert not any(other() for other in others)
    assert kinds.of(pod("like it", app="used")) is used
    assert kinds.of(pod(app="app-0")).class_key is kinds.of(pod(app="app-0")).class_key


def test_pods_of_a_template_are_of_one_kind() -> None:
    assert KINDS.of(pod()) is KINDS.of(pod("other", placed=True))
    assert KINDS.of(pod()) != KINDS.of(pod(app="db"))


def test_records_of_equal_pods_say_the_same_wherever_they_are() -> None:
    one = PodRecord.of(pod(), KINDS.of(pod()), UNPLACED)
    assert one.says_what(PodRecord.of(pod(), PodKinds(NEWEST_RULES).of(pod()), 3, assumed=True))
    for whole in (pod("other"), pod(app="db"), pod(placed=True)):
        assert not one.says_what(PodRecord.of(whole, KINDS.of(whole), UNPLACED))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod(app="db"), id="other-labels"),
        pytest.param(make_pod("pod", labels={"app": "\udcba"}, requests={"cpu": "100m"}), id="no-text"),
        pytest.param(
            make_pod("pod", requests={"cpu": "100m"}, spec={"nodeSelector": {"disk": "ssd"}}),
            id="other-nodes",
        ),
    ],
)
def test_a_kind_is_found_from_one_like_it_as_from_nothing(other: Pod) -> None:
    kinds = PodKinds(NEWEST_RULES)
    found = kinds.like(template_of(other), kinds.of(pod()))
    assert found == PodKinds(NEWEST_RULES).of(other)
    if "\udcba" not in other.metadata.labels.values():
        assert kinds.of(other) is kinds.like(template_of(other), kinds.of(pod())) is found


def test_terms_are_worked_out_once_for_all_kinds_that_have_them() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    one, other = (KINDS.of(make_pod("pod", labels={"app": app}, spec=spec)) for app in ("web", "db"))
    assert one is not other
    assert one.terms is other.terms
    assert one.terms == affinity_terms(one.template)
    assert KINDS.of(pod()).terms == AffinityTerms()
