"""Nodes pull images all the time: that matters to the pods that use one of them alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import default
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder
from tests.examples import examples

MIB = 1 << 20
IMAGES = ("app:1", "db:2", "web:3")

Sizes = dict[str, int]


class Pulling:
    """Three nodes that pull images and drop them, and pods of one image."""

    def __init__(self) -> None:
        self.state = State()
        registry = new_in_tree_registry()
        self.engine = build_engine(default(registry.catalog()), registry, self.state, NoBinder())
        self._pods = 0
        for name in "abc":
            self.node(name, {})

    def node(self, name: str, images: Sizes, zone: str = "") -> None:
        """Its list of images, with their sizes in MiB, and its zone."""
        listed = [{"names": [image], "sizeBytes": size * MIB} for image, size in images.items()]
        node = make_node(name, labels={"zone": zone}, allocatable={"cpu": "8"}, status={"images": listed})
        self.state.apply("test", [Put(node)])

    def ask(self, image: str = "app:1") -> None:
        """A pod gets the same answer from the cache and in full."""
        self._pods += 1
        spec = {"containers": [{"name": "c", "image": image}]}
        pod = make_pod("pod", metadata={"uid": f"u{self._pods}"}, spec=spec)
        found = [
            self.engine.decide(pod, self.engine.profile(), ALL_NODES, seed=1, options=options)
            for options in (None, CycleOptions())
        ]
        cached, full = [(choice.node_name, choice.total, choice.tie_count) for choice in found]
        assert cached == full


@pytest.mark.parametrize(
    ("before", "images", "zone", "evaluations"),
    [
        pytest.param({"app:1": 500}, {"app:1": 500, "db:2": 500}, "", 0, id="another image comes"),
        pytest.param({"app:1": 500, "db:2": 500}, {"app:1": 500}, "", 0, id="another image goes"),
        pytest.param({}, {"app:1": 500}, "", 1, id="its image comes"),
        pytest.param({"app:1": 500}, {}, "", 1, id="its image goes"),
        pytest.param({"app:1": 500}, {"app:1": 900}, "", 1, id="its image has another size"),
        pytest.param({}, {"db:2": 500}, "z", 1, id="a label comes with another image"),
    ],
)
def test_only_its_own_images_matter_to_a_pod(
    before: Sizes, images: Sizes, zone: str, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulling = Pulling()
    pulling.node("b", before)
    for _ in range(2):
        pulling.ask()
    found: list[object] = []
    find = EvaluationCache._found_static

    def finding(*arguments: Any) -> Any:
        found.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(EvaluationCache, "_found_static", finding)
    pulling.node("b", images, zone)
    pulling.ask()
    assert len(found) == evaluations


lists = st.dictionaries(st.sampled_from(IMAGES), st.sampled_from((100, 500, 900)), max_size=3)
pulls = st.tuples(st.sampled_from("abc"), lists, st.sampled_from(("", "", "", "z")))


@examples(100)
@given(st.lists(st.tuples(st.lists(pulls, max_size=3), st.sampled_from(IMAGES)), max_size=12))
def test_after_any_pulls_the_answer_is_that_of_a_full_cycle(
    history: list[tuple[list[tuple[str, Sizes, str]], str]],
) -> None:
    pulling = Pulling()
    for changes, image in history:
        for name, images, zone in changes:
            pulling.node(name, images, zone)
        pulling.ask(image)
