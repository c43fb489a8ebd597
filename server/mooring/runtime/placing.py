"""Decisions that count: the chosen node is assumed, then bound, and given back when that fails."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import CycleState, Pod, Status
from mooring.framework.errors import (
    FailedPreconditionError,
    MooringError,
    NotFoundError,
)
from mooring.runtime.commit import Committed, UnknownOutcomeError, commit
from mooring.runtime.engine import Choice, Engine, Rows
from mooring.runtime.profile import Profile
from mooring.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one pod: the choice, and how the binding ended when there was a node."""

    choice: Choice
    committed: Committed | None = None

    @property
    def status(self) -> Status:
        """The verdict on the pod."""
        return self.committed.status if self.committed else self.choice.evaluation.status


def place(
    engine: Engine, pod: Pod, profile: Profile, rows: Rows, *, seed: int = 0, progress: Progress | None = None
) -> Placement:
    """Decide, assume and bind ``pod``.

    Raises:
        FailedPreconditionError: It has a node already, is being deleted or is gated.
        MooringError: The decision or the binding failed.
    """
    refuse_unbindable(pod)
    choice = engine.decide_and_assume(pod, profile, rows, seed=seed, progress=progress)
    if choice.node_name is None:
        return Placement(choice)
    notes = choice.evaluation.state
    return Placement(choice, commit_assumed(engine, profile, notes, pod, choice.node_name, progress))


def bind(
    engine: Engine, pod: Pod, node_name: str, profile: Profile, *, progress: Progress | None = None
) -> Committed:
    """Bind ``pod`` to the node that somebody chose. Repeating it for the same node is safe.

    Raises:
        NotFoundError: The node is unknown (NODE_NOT_FOUND).
        FailedPreconditionError: The pod is on another node, being deleted or gated.
        MooringError: The binding failed.
    """
    if pod.spec.node_name != node_name:
        refuse_unbindable(pod)
    try:
        engine.state.assume(pod, node_name)
    except KeyError:
        raise NotFoundError(
            f"node {node_name!r} is not known; schedule the pod again",
            reason="NODE_NOT_FOUND",
            node=node_name,
        ) from None
    return commit_assumed(engine, profile, CycleState(), pod, node_name, progress)


def refuse_unbindable(pod: Pod) -> None:
    """Refuse a pod that must not be bound.

    Raises:
        FailedPreconditionError: It has a node (POD_BOUND_ELSEWHERE), is being deleted (POD_DELETING) or
            gated (POD_GATED).
    """
    if pod.spec.node_name:
        raise FailedPreconditionError(
            f"pod {pod.key} is on node {pod.spec.node_name} already; forget this decision",
            reason="POD_BOUND_ELSEWHERE",
            pod=pod.key,
            node=pod.spec.node_name,
        )
    if pod.metadata.deletion_timestamp:
        raise FailedPreconditionError(
            f"pod {pod.key} is being deleted; forget it", reason="POD_DELETING", pod=pod.key
        )
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        raise FailedPreconditionError(
            f"pod {pod.key} is gated by {gates}; wait until the gates are gone",
            reason="POD_GATED",
            pod=pod.key,
        )


def commit_assumed(
    engine: Engine,
    profile: Profile,
    notes: CycleState,
    pod: Pod,
    node_name: str,
    progress: Progress | None,
) -> Committed:
    """Commit the assumed pod. What is known to have failed is forgotten; an unknown outcome stays assumed.

    Raises:
        MooringError: A plugin or the binding failed.
    """
    try:
        committed = commit(profile, notes, pod, node_name, engine.calls(profile, progress))
    except UnknownOutcomeError as unknown:
        raise unknown.reason from None
    except MooringError:
        engine.state.forget(pod.metadata.uid)
        raise
    if not committed.status.ok:
        engine.state.forget(pod.metadata.uid)
    return committed
