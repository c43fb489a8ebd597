"""Whether a pod may be bound to a node that the caller names: the pod itself, and the node as it is now."""

from __future__ import annotations

from mooring.framework import Pod
from mooring.framework.errors import (
    FailedPreconditionError,
    MooringError,
    bound_elsewhere,
)
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import evaluate_filters
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import row_of
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile


def reject_unbindable(pod: Pod) -> None:
    """Reject a pod that must not be bound. Raises FailedPreconditionError if it has a node
    (POD_BOUND_ELSEWHERE), is being deleted (POD_DELETING) or gated (POD_GATED).
    """
    if pod.spec.node_name:
        raise bound_elsewhere(pod.key, pod.spec.node_name)
    reject_leaving(pod)


def reject_placed(state: ClusterState, pod: Pod) -> None:
    """As ``reject_unbindable``, of a pod either as it was sent or as the state has it."""
    reject_unbindable(pod)
    reject_unbindable(current_pod(state, pod))


def current_pod(state: ClusterState, pod: Pod) -> Pod:
    """Return the pod as the state has it; the given one if the state doesn't know it."""
    record = state.snapshot.pods.get(pod.metadata.uid)
    return pod if record is None else record.pod


def placed_pod(state: ClusterState, uid: str) -> Pod | None:
    """Return the pod of that UID when it counts on a node."""
    record = state.snapshot.pods.get(uid)
    return record.pod if record is not None and record.pod.spec.node_name else None


def reject_leaving(pod: Pod) -> None:
    """Raise FailedPreconditionError if the pod is being deleted (POD_DELETING) or gated (POD_GATED)."""
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


def may_be_placed(pod: Pod) -> bool:
    """Return whether ``reject_unbindable`` lets the pod pass."""
    return not (pod.spec.node_name or pod.metadata.deletion_timestamp or pod.spec.scheduling_gates)


def no_longer_fits(pod: Pod, node_name: str, evaluation: Evaluation) -> MooringError:
    """Return the error for the one node of ``evaluation``, which the filters reject by now."""
    said = evaluation.statuses[evaluation.codes[0]].message
    return FailedPreconditionError(
        f"pod {pod.key} no longer fits on node {node_name}: {said}; schedule it again",
        reason="NODE_NO_LONGER_FITS",
        pod=pod.key,
        node=node_name,
    )


def still_fits(
    engine: Engine, pod: Pod, node_name: str, profile: Profile, progress: Progress | None
) -> Evaluation:
    """Filter ``pod`` on the node on which it is assumed, as if it weren't there. Raises NotFoundError if
    there is no such node (NODE_NOT_FOUND).
    """
    fork = engine.state.fork()
    fork.discard(pod.metadata.uid)
    node = Candidates(lambda state: row_of(state, node_name))
    evaluation, _ = engine.evaluate(pod, profile, node, evaluate_filters, state=fork, progress=progress)
    return evaluation
