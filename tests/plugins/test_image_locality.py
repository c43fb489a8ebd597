from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import Node, Pod
from mooring.plugins.image_locality.plugin import ImageLocality, normalized_image_name
from mooring.testing.builders import make_node, make_pod
from tests.examples import examples
from tests.plugins.harness import cluster, make, raw_scores

MIB = 1 << 20


def having(name: str, **images: int) -> Node:
    """Return a node with images of the given MiB."""
    listed = [{"names": [f"{image}:latest"], "sizeBytes": size * MIB} for image, size in images.items()]
    return make_node(name, status={"images": listed})


def running(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    def containers(names: tuple[str, ...]) -> list[dict[str, Any]]:
        return [{"name": f"c{at}", "image": image} for at, image in enumerate(names)]

    mounted = [{"name": f"v{at}", "image": {"reference": name}} for at, name in enumerate(volumes)]
    return make_pod(
        spec={"containers": containers(images), "initContainers": containers(init), "volumes": mounted}
    )


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        pytest.param("nginx", "nginx:latest", id="no tag"),
        pytest.param("nginx:1", "nginx:1", id="tag"),
        pytest.param("registry:5000/nginx", "registry:5000/nginx:latest", id="a port is not a tag"),
        pytest.param("registry:5000/nginx:1", "registry:5000/nginx:1", id="port and tag"),
        pytest.param("nginx@sha256:abc", "nginx@sha256:abc", id="digest"),
        pytest.param("", ":latest", id="empty"),
    ],
)
def test_names(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


@pytest.mark.parametrize(
    ("pod", "scores"),
    [
        # one: 40 MiB on 1 of 2 nodes, two: 300 MiB on 2 of 2, big: 4000 MiB on 1 of 2
        pytest.param(running("one"), {"a": 0, "b": 0}, id="20 MiB are below the threshold"),
        pytest.param(running("two"), {"a": 28, "b": 28}, id="(300-23)*100/977"),
        pytest.param(running("big"), {"a": 0, "b": 100}, id="above the upper bound"),
        pytest.param(running("two", "two"), {"a": 29, "b": 29}, id="each container counts"),
        pytest.param(running("one", init=("two",)), {"a": 15, "b": 14}, id="init containers count"),
        pytest.param(running("one", volumes=("two",)), {"a": 15, "b": 14}, id="image volumes count"),
        pytest.param(running("absent"), {"a": 0, "b": 0}, id="nobody has it"),
    ],
)
def test_score(pod: Pod, scores: dict[str, int]) -> None:
    nodes = cluster(having("a", one=40, two=300), having("b", two=300, big=4000))
    assert raw_scores(make(ImageLocality), pod, nodes) == scores


def test_before_1_37_image_volumes_did_not_divide() -> None:
    nodes = cluster(having("a", one=40, two=300), having("b", two=300, big=4000))
    pod = running("one", volumes=("two",))
    assert raw_scores(make(ImageLocality, kube="1.36"), pod, nodes) == {"a": 30, "b": 28}


def test_before_1_36_image_volumes_do_not_count() -> None:
    nodes = cluster(having("a", two=300))
    assert raw_scores(make(ImageLocality, kube="1.35"), running("one", volumes=("two",)), nodes) == {"a": 0}


@examples(60)
@given(
    st.lists(st.dictionaries(st.sampled_from(["one", "two"]), st.integers(1, 900)), min_size=2, max_size=5)
)
def test_a_node_that_goes_matters_where_the_scores_of_others_change(images: list[dict[str, int]]) -> None:
    # An image is as large as the first node says; here all say the same.
    sizes = {name: size for each in reversed(images) for name, size in each.items()}
    nodes = [having(f"n{at}", **{name: sizes[name] for name in each}) for at, each in enumerate(images)]
    pod, plugin = running("one", "two"), make(ImageLocality)
    before = raw_scores(plugin, pod, cluster(*nodes))
    after = raw_scores(plugin, pod, cluster(*nodes[1:]))
    state = cluster(*nodes)
    affected = plugin.affected_by_removal(pod, state.snapshot.nodes, 0)
    assert affected == any(before[name] != after[name] for name in after)
