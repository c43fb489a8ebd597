"""The handle that the runtime gives a plugin when it makes it."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from mooring.framework.cluster_api import ClusterApi
from mooring.framework.errors import UnavailableError
from mooring.framework.objects import Object, Pod
from mooring.framework.releases import NEWEST, Gates, KubeVersion
from mooring.framework.view import Snapshot
from mooring.framework.waiting import NOBODY_WAITS, WaitingPods


class BindOutcome(Enum):
    """How a binding ended."""

    BOUND = "bound"
    """The API server accepted it."""

    ALREADY_BOUND = "already bound"
    """The pod was on that node already."""

    LOCAL = "local"
    """There is no API server: only the local state knows."""


class Binder(Protocol):
    """Writes a pod's binding to the API server, or to the local state without one."""

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """Bind ``pod`` (by UID) to the node.

        Raises:
            MooringError: The pod is not bound, or that is unknown; see ``mooring.framework.errors``.
        """
        ...


BindingAnswer = BindOutcome | Callable[[], BindOutcome]
"""How a binding ended, or the function that finds it out by further requests. It may block, and raises the
errors of ``Binder.bind``."""

BindingEnded = Callable[[BindingAnswer], None]
"""Gets the answer to a binding. Called once, by a thread that takes the answers for all."""


class SendingBinder(ABC):
    """A ``Binder`` that can send a binding without waiting for its answer; or a Bind plugin that can, and
    never skips.
    """

    @abstractmethod
    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        """Send what ``bind`` sends, and call ``ended`` later; False = nothing was sent, and ``bind`` has to.

        Raises:
            MooringError: Nothing may be sent, for example while another process leads. The caller doesn't
                check that.
        """


def as_sending(binder: object) -> SendingBinder | None:
    """Return ``binder`` if it can send bindings; else None."""
    return binder if isinstance(binder, SendingBinder) else None


class Leadership(Protocol):
    """Whether this process may commit: with several replicas, only the one that holds the lease."""

    def is_leader(self) -> bool:
        """Return whether it may commit now, by its own clock; never blocks. Safe from any thread."""
        ...

    def leader(self) -> str:
        """Return the holder of the lease, as far as is known, else ""."""
        ...


class AlwaysLeader:
    """The leadership of a process without election: it always leads."""

    def is_leader(self) -> bool:
        """Return True: it always leads."""
        return True

    def leader(self) -> str:
        """Return "": there is no other leader to name."""
        return ""


def require_leader(leadership: Leadership) -> None:
    """Require that this process holds the lease.

    Raises:
        UnavailableError: Another process holds it (NOT_LEADER).
    """
    if not leadership.is_leader():
        leader = leadership.leader()
        address = address_of(leader)
        raise UnavailableError(
            f"this replica does not lead; call {address or leader or 'the one that does'}",
            reason="NOT_LEADER",
            leader=leader,
            leader_address=address,
        )


def address_of(leader: str) -> str:
    """Return the HOST:PORT with which a leader's name begins if it was given one, else ""."""
    host = leader.rpartition("_")[0]
    return host if ":" in host else ""


class Clock(Protocol):
    """Time, so that tests can set it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Assumptions(Protocol):
    """Shows objects of the object table as they are about to be, so that other decisions rely on that.

    The methods are those of ``ClusterState``. While the lock is held, objects that were read stay
    current.
    """

    lock: threading.RLock

    def assume_object(self, item: Any) -> None:
        """Show ``item``."""
        ...

    def forget_object(self, kind: type[Object], name: str, namespace: str = "") -> None:
        """Show what a source delivered again."""
        ...


class _NoAssumptions:
    def __init__(self) -> None:
        self.lock = threading.RLock()

    def assume_object(self, item: Any) -> None:
        """Nothing: there are no other decisions to see it."""

    def forget_object(self, kind: type[Object], name: str, namespace: str = "") -> None:
        """Nothing was assumed."""


def _uncounted(plugin: str, event: str) -> None:
    """For handles of tests and offline commands."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A plugin's access to the rest of the server. Plugins build no clients of their own.

    Attributes:
        snapshot: Gives the tables of the live state; safe from any thread. Within a cycle use the
            NodeView that the point is called with, never this.
        binder: Sends bindings.
        clock: The time.
        logger: A logger named after the plugin.
        kube_version: The release whose behaviour is followed.
        feature_gates: Gates set by the operator; absent = the release's default.
        cluster: Reads and writes at the API server; None without one.
        waiting: The pods that a Permit plugin makes wait.
        assumptions: For Reserve: shows objects as they are about to be.
        count: ``(plugin, event)``: counts one event of the plugin, a word of its own such as
            ``refresh_failed``, in the metric ``mooring_plugin_events_total``.
    """

    snapshot: Callable[[], Snapshot]
    binder: Binder
    clock: Clock
    logger: logging.Logger
    kube_version: KubeVersion = NEWEST
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    cluster: ClusterApi | None = None
    waiting: WaitingPods = NOBODY_WAITS
    assumptions: Assumptions = field(default_factory=_NoAssumptions)
    count: Callable[[str, str], None] = _uncounted

    @property
    def gates(self) -> Gates:
        """Which feature gates are on."""
        return Gates(self.kube_version, self.feature_gates)
