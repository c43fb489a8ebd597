"""A pod is its kind and what is its own, and nothing else."""

from weakref import ref

import pytest

from mooring.cluster import pod_kinds
from mooring.cluster.interning import same_template
from mooring.cluster.pod_kinds import PodKinds
from mooring.framework.objects import Pod
from mooring.framework.pod_affinity import AffinityTerms, affinity_terms
from mooring.framework.pod_requests import NEWEST_RULES
from mooring.framework.pod_table import UNPLACED, PodRecord, bare_template_of, template_of
from mooring.testing.builders import make_pod

KINDS = PodKinds(NEWEST_RULES)
RUNNING = {"phase": "Running"}


def pod(name: str = "pod", app: str = "web", *, placed: bool = False) -> Pod:
    return make_pod(
        name,
        labels={"app": app},
        node="node-1" if placed else "",
        requests={"cpu": "100m"},
        metadata={"uid": "u1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
        status={**RUNNING, **({"startTime": "2026-01-01T00:00:01Z"} if placed else {})},
    )


@pytest.mark.parametrize(
    "whole", [pytest.param(pod(), id="pending"), pytest.param(pod(placed=True), id="placed")]
)
def test_a_record_gives_back_its_pod(whole: Pod) -> None:
    assert PodRecord.of(whole, KINDS.of(whole), UNPLACED).pod == whole


def test_a_kind_lives_as_long_as_it_is_used() -> None:
    kinds = PodKinds(NEWEST_RULES)
    used = kinds.of(pod("used", app="used"))
    others = [kinds.of(made(number)) for made in (other_labels, other_nodes) for number in range(500)]
    refs = [ref(part) for kind in others for part in (kind, kind.base) if part is not used.base]
    del others
    assert not any(each() for each in refs)
    assert kinds.of(pod("like it", app="used")).base is used.base


def other_labels(number: int) -> Pod:
    return pod(app=f"app-{number}")


def other_nodes(number: int) -> Pod:
    return make_pod("pod", spec={"nodeSelector": {"disk": f"disk-{number}"}})


def test_of_kinds_with_labels_of_their_own_few_are_found_again() -> None:
    """Not even among thousands: remembering each would be useless."""
    kinds = PodKinds(NEWEST_RULES)
    living = [kinds.of(pod(app=f"app-{number}")) for number in range(2 * pod_kinds._LATELY)]
    again = [kinds.of(pod(app=f"app-{number}")) for number in range(2 * pod_kinds._LATELY)]
    assert living == again
    assert sum(one is other for one, other in zip(living, again, strict=True)) <= pod_kinds._LATELY


def test_kinds_in_use_are_found_again_whatever_else_there_is() -> None:
    """Whatever their hashes: two in one place were made again alternately."""
    kinds = PodKinds(NEWEST_RULES)
    pods = [pod(app=f"app-{number}") for number in range(pod_kinds._LATELY // 2)]
    first, second = [[kinds.of(each) for each in pods] for _ in range(2)]
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_pods_of_a_template_are_of_one_kind() -> None:
    assert KINDS.of(pod()) is KINDS.of(pod("other", placed=True))
    assert KINDS.of(pod()) != KINDS.of(pod(app="db"))


def test_records_of_equal_pods_say_the_same_wherever_they_are() -> None:
    one = PodRecord.of(pod(), KINDS.of(pod()), UNPLACED)
    assert one.says_what(PodRecord.of(pod(), PodKinds(NEWEST_RULES).of(pod()), 3, assumed=True))
    for whole in (pod("other"), pod(app="db"), pod(placed=True)):
        assert not one.says_what(PodRecord.of(whole, KINDS.of(whole), UNPLACED))


@pytest.mark.parametrize("ssd", ["ssd", pytest.param("\udcba", id="no-text")])
def test_the_kind_of_pods_for_other_nodes_is_found_from_one_like_it(ssd: str) -> None:
    kinds = PodKinds(NEWEST_RULES)
    spec = {"nodeSelector": {"disk": ssd}}
    other = make_pod("pod", labels={"app": "web"}, requests={"cpu": "100m"}, spec=spec, status=RUNNING)
    found = kinds.like(bare_template_of(other), kinds.of(pod()))
    assert found == PodKinds(NEWEST_RULES).of(other)
    if ssd == "ssd":
        assert kinds.of(other) is kinds.like(bare_template_of(other), kinds.of(pod())) is found


@pytest.mark.parametrize("app", ["db", pytest.param("\udcba", id="no-text")])
@pytest.mark.parametrize("leaving", [{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])
def test_the_kind_of_pods_with_other_labels_is_found_from_one_like_it(
    app: str, leaving: dict[str, str]
) -> None:
    kinds = PodKinds(NEWEST_RULES)
    one, other = (
        make_pod("pod", labels=labels, metadata=leaving) for labels in ({"app": "web"}, {"app": app})
    )
    found = kinds.labelled(kinds.of(one), other.metadata.labels)
    assert found == PodKinds(NEWEST_RULES).of(other)
    assert kinds.of(other) is found
    assert found.base is kinds.of(one).base
    assert found.template == template_of(other)


def test_terms_are_worked_out_once_for_all_kinds_that_have_them() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    one, other = (KINDS.of(make_pod("pod", labels={"app": app}, spec=spec)) for app in ("web", "db"))
    assert one is not other
    assert one.terms is other.terms
    assert one.terms == affinity_terms(one.template)
    assert KINDS.of(pod()).terms == AffinityTerms()


def test_pods_in_parts_are_of_the_kind_that_they_are_of_as_a_whole() -> None:
    kinds, one = PodKinds(NEWEST_RULES), pod()
    template = same_template(bare_template_of(one))
    found = kinds.of_template(template, one.metadata.labels)
    assert found is kinds.of(one) is kinds.of_template(bare_template_of(one), one.metadata.labels)
    assert kinds.of_template(template, {"app": "other"}).base is found.base
