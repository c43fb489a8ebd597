"""The runtime's interface of an extender: a program outside mooring that takes part in decisions.

Mirrors the interface ``Extender`` in ``k8s.io/kube-scheduler/framework/extender.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mooring.framework import Pod, Status
from mooring.framework.errors import PluginFailureError
from mooring.framework.preemption import Candidate

EXTENDER = "Extender"
"""The name by which the queue knows all extenders: any event may help a pod that one rejected."""


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """An extender's answer about the nodes that it was sent.

    Attributes:
        node_names: The nodes that it leaves; each was among those sent.
        failed: Why it rejects others, by node; removing pods may help there.
        failed_and_unresolvable: The same where it can't; this wins over ``failed``.
    """

    node_names: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """The pods that would have to leave a node, by UID, and how many of them a disruption budget protects."""

    uids: Sequence[str]
    violations: int


class Extender(Protocol):
    """One extender. Every call blocks until it answers or times out. Safe from any thread.

    Attributes:
        name: Its address.
        weight: The factor of its scores, which are 0 to 10.
        ignorable: Decisions go on without it when it fails.
        filters: Whether it takes part in filtering,
        prioritizes: in scoring,
        binds: in binding,
        preempts: and in preemption.
    """

    name: str
    weight: int
    ignorable: bool
    filters: bool
    prioritizes: bool
    binds: bool
    preempts: bool

    def is_interested(self, pod: Pod) -> bool:
        """Return whether it is interested in ``pod``; depends on the pod's spec alone."""
        ...

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterAnswer:
        """Which of the nodes can take ``pod``.

        Raises:
            PluginUnavailableError: It did not answer.
            PluginFailureError: It failed, or named a node that it was not given.
            NotFoundError: The pod or a node is gone.
        """
        ...

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        """(node, score) pairs: int64 scores, added up where a node is named twice. Raises as ``filter``."""
        ...

    def bind(self, pod: Pod, node_name: str) -> Status:
        """Have ``pod`` bound to the node; an Error says that it was rejected. Raises PluginFailureError if
        there was no answer that can be used; the pod may be bound.
        """
        ...

    def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, MetaVictims]:
        """By node, what it makes of the candidates for preemption. Raises as ``filter``."""
        ...


def extender_failure(extender: str, point: str, message: str) -> PluginFailureError:
    """Return the error for an extender that failed; as in kube-scheduler, it has nothing but a message."""
    return PluginFailureError(message, plugin=extender, extension_point=point)
