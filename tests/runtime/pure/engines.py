"""Engines with rules of other authors, and questions to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Node, Plugin, Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.pure.followed_plugin import FollowedPlugin
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

RACKS = 5


def nodes(count: int = 20) -> list[Node]:
    """Return nodes in a few racks, named n0, n1, ..."""
    return [make_node(f"n{at}", labels={"rack": f"r{at % RACKS}"}) for at in range(count)]


class Rules:
    """An engine that decides by one rule besides the plugins in the tree."""

    def __init__(self, rule: type[Plugin[Any]], cluster: Sequence[Any] | None = None, **options: Any) -> None:
        self.state = State()
        registry = new_in_tree_registry()
        registry.register(rule.name, rule)
        enabled = {"multiPoint": {"enabled": [{"name": rule.name}]}}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "plugins": enabled}],
        }
        configuration = from_document(document, registry.catalog())
        self.engine: Engine = build_engine(configuration, registry, self.state, NoBinder(), **options)
        self.profile = self.engine.profile("default-scheduler")
        self.put(*(nodes() if cluster is None else cluster))
        self._count = 0

    @property
    def plugin(self) -> FollowedPlugin:
        """Return the plugin that wraps the rule."""
        (found,) = self.profile._followed
        return found

    @property
    def calls(self) -> int:
        """How often the rule was called by Filter and Score."""
        answers = (self.plugin.filtering, self.plugin.scoring)
        return sum(each.calls for each in answers if each is not None)

    def put(self, *objects: Any) -> None:
        """These objects come, or change."""
        self.state.apply("test", [Put(each) for each in objects])

    def remove(self, *objects: Any) -> None:
        """These objects go."""
        gone = [(type(each).__name__, each.metadata.namespace, each.metadata.name) for each in objects]
        self.state.apply("test", [Remove(*each) for each in gone])

    def pod(self, **fields: Any) -> Pod:
        """Return a new pod."""
        self._count += 1
        return make_pod(
            f"p{self._count}", metadata={"uid": f"u{self._count}", **fields.pop("metadata", {})}, **fields
        )

    def decide(self, pod: Pod | None = None, *, place: bool = True) -> Choice:
        """Decide about a pod, by default a new one, and place it unless ``place`` is False."""
        choose: Callable[..., Choice] = self.engine.place if place else self.engine.decide
        return choose(pod or self.pod(), self.profile, ALL_NODES, seed=1)

    def bypasses(self) -> int:
        """Return how many pods the cache had no answer for."""
        return sum(self.engine.cache_counts.bypasses().values())
