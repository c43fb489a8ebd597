"""Random nodes and pods out of a small world, so that they meet; amounts up to the limits of int64."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mooring.framework import Node, Pod
from mooring.testing.builders import make_node, make_pod

GPU = "example.com/gpu"
HUGE = 2**61

KEYS = st.sampled_from(["zone", "disk", "size"])
VALUES = st.sampled_from(["a", "b", "7", "12", "03"])
LABELS = st.dictionaries(KEYS, VALUES)
IMAGES = ["registry.example/one:1", "registry.example/two:latest", "three:latest"]

TAINTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["gpu", "spot"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    }
)
TOLERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["gpu", "spot", "node.kubernetes.io/unschedulable"])},
        optional={
            "operator": st.sampled_from(["Equal", "Exists"]),
            "value": st.sampled_from(["", "x"]),
            "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        },
    ),
    st.just({"operator": "Exists"}),
)

PORTS = st.fixed_dictionaries(
    {
        "containerPort": st.just(80),
        "hostPort": st.integers(0, 3),
        "protocol": st.sampled_from(["TCP", "UDP"]),
    },
    optional={"hostIP": st.sampled_from(["0.0.0.0", "10.0.0.1", "10.0.0.2"])},
)


def amounts(most: int) -> st.SearchStrategy[int]:
    """Small numbers, round ones, and such whose hundredfold int64 can't hold."""
    return st.one_of(st.integers(0, 12), st.integers(0, 2**40), st.integers(most // 3, most))


def quantities(most: int = HUGE) -> st.SearchStrategy[dict[str, Any]]:
    """Return requests, or what a node offers, of some resources."""
    return st.fixed_dictionaries(
        {},
        optional={
            "cpu": st.one_of(st.integers(0, 4000).map("{}m".format), amounts(most // 1000)),
            "memory": amounts(most),
            "ephemeral-storage": amounts(most),
            GPU: st.integers(0, 4),
        },
    )


EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=3),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        KEYS,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
    st.builds(
        lambda operator, bound: {"key": "size", "operator": operator, "values": [str(bound)]},
        st.sampled_from(["Gt", "Lt"]),
        st.integers(0, 15),
    ),
)
NAME_FIELDS = st.builds(
    lambda operator, number: {"key": "metadata.name", "operator": operator, "values": [f"n{number}"]},
    st.sampled_from(["In", "NotIn"]),
    st.integers(0, 6),
)
TERMS = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(EXPRESSIONS, min_size=1, max_size=2),
        "matchFields": st.lists(NAME_FIELDS, min_size=1, max_size=2),
    },
)
NODE_AFFINITIES = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.builds(
            lambda terms: {"nodeSelectorTerms": terms}, st.lists(TERMS, min_size=1, max_size=3)
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.builds(
                lambda weight, term: {"weight": weight, "preference": term}, st.integers(1, 100), TERMS
            ),
            max_size=3,
        ),
    },
)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    return [draw(_node(number)) for number in range(draw(st.integers(0, 6)))]


@st.composite
def _node(draw: st.DrawFn, number: int) -> Node:
    images = draw(st.lists(st.sampled_from(IMAGES), unique=True))
    sizes = {name: (at + 1) * 300 << 20 for at, name in enumerate(IMAGES)}
    return make_node(
        f"n{number}",
        labels=draw(LABELS),
        allocatable={"pods": draw(st.integers(0, 4)), **draw(quantities())},
        taints=draw(st.lists(TAINTS, max_size=3)),
        spec=draw(st.sampled_from([{}, {"unschedulable": True}])),
        status={"images": [{"names": [name], "sizeBytes": sizes[name]} for name in images]},
    )


@st.composite
def _container(draw: st.DrawFn, number: int, most: int) -> dict[str, Any]:
    return {
        "name": f"c{number}",
        "image": draw(st.sampled_from([*IMAGES, "registry.example/two", "three"])),
        "resources": {"requests": draw(quantities(most))},
        "ports": draw(st.lists(PORTS, max_size=2)),
    }


@st.composite
def containers(draw: st.DrawFn, most: int) -> list[dict[str, Any]]:
    return [draw(_container(number, most)) for number in range(draw(st.integers(1, 3)))]


@st.composite
def placed_pods(draw: st.DrawFn) -> list[Pod]:
    """At most four on a node, so that no sum of requests leaves int64."""
    return [
        make_pod(f"p{node}-{number}", node=f"n{node}", spec={"containers": draw(containers(HUGE // 16))})
        for node in range(6)
        for number in range(draw(st.integers(0, 3)))
    ]


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Return a pending pod that uses a bit of everything."""
    spec = {
        "containers": draw(containers(HUGE // 4)),
        "tolerations": draw(st.lists(TOLERATIONS, max_size=3)),
        "nodeSelector": draw(st.one_of(st.just({}), LABELS)),
        "affinity": {"nodeAffinity": draw(NODE_AFFINITIES)},
        **draw(st.sampled_from([{}, {"nodeName": "n1"}])),
    }
    return make_pod("new", spec=spec)
