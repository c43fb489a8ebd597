"""Kept evaluations with the plugins of the published systems: IPs that pods use up, and measurements."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.objects import Measurement, ObjectMeta
from mooring.plugins.network_traffic.plugin import NetworkTraffic
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.pure.followed_plugin import rule_of
from mooring.testing import make_pod
from tests.examples import examples
from tests.laboratories.histories.comparing import facts

from .test_cached_equals_full import EMPTY_NODES, NODES, History, Step, histories

DOCUMENT = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "UnderlayIP"}, {"name": "NetworkTraffic", "weight": 2}]}
            },
            "pluginConfig": [
                {"name": "UnderlayIP", "args": {"ipsPerNode": 2, "consumers": {"label": "app=a"}}},
                {"name": "NetworkTraffic", "args": {"bandwidthFile": "bandwidth.yaml"}},
            ],
        }
    ],
}


class Systems(History):
    """A cluster with both plugins."""

    def __init__(self) -> None:
        super().__init__(DOCUMENT)
        enabled = (rule_of(one.plugin) for one in self.engine.profile().score)
        (self._traffic,) = (one for one in enabled if isinstance(one, NetworkTraffic))

    def measure(self, bandwidth: dict[str, int]) -> None:
        """The network's traffic is another one from now on, and a pod that comes adds some."""
        self.ask()
        (source,) = self._traffic.measures()
        highest, pods = max(bandwidth.values(), default=0), dict.fromkeys(bandwidth, (1, 0.5))
        name = ObjectMeta(name=source.name)
        self.state.assume_object(Measurement(name, bandwidth, highest, per_pod=7.0, pods=pods))
        self.ask()

    def lose(self) -> None:
        """Remove all measurements."""
        (source,) = self._traffic.measures()
        self.state.forget_object(Measurement, source.name)
        self.ask()

    def ask(self) -> None:
        """Decide and change nothing."""
        pod, profile = make_pod("asked", metadata={"uid": "asked"}), self.engine.profile()
        full = self.engine.decide(pod, profile, ALL_NODES, options=CycleOptions())
        assert facts(self.engine.decide(pod, profile, ALL_NODES)) == facts(full)


measured = st.dictionaries(st.sampled_from(NODES), st.integers(0, 10**6), max_size=len(NODES))
measuring = st.one_of(st.tuples(st.just("measure"), measured), st.just(("lose",)))


@st.composite
def measured_histories(draw: st.DrawFn) -> list[Step]:
    """Histories in which measurements come between any two steps."""
    steps: list[Any] = []
    for step in draw(histories()):
        steps += [step, *draw(st.lists(measuring, max_size=1))]
    return steps


@examples(60)
@given(measured_histories())
def test_decisions_from_kept_evaluations_are_those_in_full(later: list[Step]) -> None:
    Systems().run([*EMPTY_NODES, *later])


def test_most_of_them_are_kept() -> None:
    quiet = [("measure", {"n0": 100, "n1": 1, "n2": 50, "n5": 7})]
    alike: list[Step] = [("decide", "of a service"), ("decide", "small")]
    history = Systems().run([*EMPTY_NODES, *quiet, *alike * 4])
    assert history.kept == 8
