"""Who waits: pods for a Permit plugin's word, as plugins see them, and the caller for the pod's binding.

Mirrors ``WaitingPod`` of ``k8s.io/kube-scheduler/framework`` (interface.go) and ``waiting_pods_map.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mooring.framework.cycle_state import CycleState
from mooring.framework.objects import Pod


class WaitingPod(Protocol):
    """A pod that has a node and may not be bound yet. Safe from any thread; no method blocks."""

    @property
    def pod(self) -> Pod:
        """The pod; it is assumed on its node."""
        ...

    @property
    def node_name(self) -> str:
        """The node that was selected for it."""
        ...

    def pending_plugins(self) -> Sequence[str]:
        """Return the plugins that have not allowed it yet."""
        ...

    def allow(self, plugin: str) -> None:
        """Allow it for ``plugin``; it goes on once all pending plugins have allowed it."""
        ...

    def reject(self, plugin: str, message: str) -> bool:
        """Reject it: it is not bound, but Unschedulable by ``plugin``, for ``message``.

        Returns:
            False when it went on before.
        """
        ...


class WaitingPods(Protocol):
    """All waiting pods, in the order in which they came. Safe from any thread."""

    def get(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod of that UID; None when it doesn't wait."""
        ...

    def __iter__(self) -> Iterator[WaitingPod]:
        """Iterate over those that wait now."""
        ...


class _NobodyWaits:
    def get(self, uid: str) -> WaitingPod | None:
        return None

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(())


NOBODY_WAITS: WaitingPods = _NobodyWaits()
"""For processes without commits."""


@dataclass(frozen=True, slots=True)
class PodsToActivate:
    """Pods to be tried again at once, whatever they wait for.

    A Permit plugin writes it to the CycleState, under this class; the scheduler looks there when the pod of
    the cycle has its node. Mirrors ``PodsToActivate`` of ``framework/interface.go``.
    """

    pods: tuple[Pod, ...] = ()


def _goes_on() -> None:
    """Go on: the caller waits without limit."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller that waits for a pod to be bound, in the CycleState under this class from Permit on.

    A PreBind plugin that waits for something calls ``check`` from time to time, so that it does not occupy a
    thread, and the pod's place, after the caller left.

    Attributes:
        check: Raises DeadlineExceededError when the caller no longer waits; a plugin lets that pass.
    """

    check: Callable[[], None] = _goes_on

    @staticmethod
    def of(state: CycleState) -> Caller:
        """Return the caller of this decision; without one, a caller that waits without limit."""
        return state.get(Caller, Caller) or Caller()
