"""In whichever order bindings, failures and events come, a rule that counts pods holds.

In the end as many pods are bound as it allows.
"""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from mooring.cluster.kinds import Put
from mooring.testing.builders import make_pod
from tests.examples import examples
from tests.service.test_in_flight import NODES, Flying, flying

PODS = ("p", "q", "r", "s", "t")


class KubeScheduler:
    """The part of it that an extender sees: it asks about one pod after the other, and binds in parallel.

    Its watch and mooring's deliver the same in the same order, mooring's later.

    Args:
        at: mooring, with room for one pod on each node.
    """

    def __init__(self, at: Flying) -> None:
        self.bound: dict[str, str] = {}
        self._at = at
        self._binding: dict[str, str] = {}
        self._failed: set[str] = set()
        self._untold: deque[Callable[[], None]] = deque()

    def ask(self, data: st.DataObject) -> None:
        """Try a pod that waits, unless it backs off."""
        if waiting := self._waiting():
            self._ask(data.draw(st.sampled_from(waiting)), data)

    def _waiting(self) -> list[str]:
        return [pod for pod in PODS if pod not in {*self.bound, *self._binding, *self._failed}]

    def _ask(self, pod: str, data: st.DataObject) -> None:
        nodes = sorted(self._at.filter(pod))
        if nodes:
            self._binding[pod] = data.draw(st.sampled_from(nodes))
        else:
            self._tell(pod, conditions=[condition("Unschedulable")])

    def bind(self, data: st.DataObject) -> None:
        """Have a binding reach the API server."""
        if pod := self._one_of(data, self._binding):
            self.bound[pod] = self._binding.pop(pod)
            self._tell(pod, node=self.bound[pod])

    def fail(self, data: st.DataObject) -> None:
        """Have a binding fail; the pod backs off until mooring has heard of that."""
        if pod := self._one_of(data, self._binding):
            del self._binding[pod]
            self._failed.add(pod)
            self._tell(pod, conditions=[condition("SchedulerError")], backs_off=True)

    def tell(self, _: st.DataObject | None = None) -> None:
        """Deliver the next event of mooring's watch."""
        if self._untold:
            self._untold.popleft()()

    def finish(self, data: st.DataObject) -> None:
        """Let all bindings succeed, and try each pod until no more get a node.

        A failure that repeats the last one goes unnoticed: its flight ends when its own pod is tried again.
        """
        for _ in PODS:
            while self._binding:
                self.bind(data)
            while self._untold:
                self.tell()
            for pod in self._waiting():
                self._ask(pod, data)

    def _tell(
        self,
        pod: str,
        node: str = "",
        conditions: list[dict[str, Any]] | None = None,
        *,
        backs_off: bool = False,
    ) -> None:
        def tell() -> None:
            if backs_off:
                self._failed.discard(pod)
            self._at.tell(Put(make_pod(pod, node=node, status={"conditions": conditions or []})))

        self._untold.append(tell)

    def _one_of(self, data: st.DataObject, pods: dict[str, str]) -> str | None:
        return data.draw(st.sampled_from(sorted(pods))) if pods else None


def condition(reason: str) -> dict[str, Any]:
    return {"type": "PodScheduled", "status": "False", "reason": reason, "message": reason}


@examples(150)
@given(st.data(), st.lists(st.sampled_from(("ask", "ask", "bind", "fail", "tell")), min_size=10, max_size=40))
def test_no_order_of_bindings_failures_and_events_breaks_the_rule(
    data: st.DataObject, steps: list[str]
) -> None:
    with flying() as at:
        scheduler = KubeScheduler(at)
        for step in steps:
            getattr(scheduler, step)(data)
            assert set(Counter(scheduler.bound.values()).values()) <= {1}
        scheduler.finish(data)
        assert sorted(scheduler.bound.values()) == sorted(NODES)
