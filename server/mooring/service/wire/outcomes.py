"""Words for how decisions and bindings ended."""

from __future__ import annotations

from mooring.framework import BindOutcome, Code, Status
from mooring.framework.errors import MooringError
from mooring.runtime.commit.extension_points import Committed
from mooring.runtime.commit.placement import HeldPlace
from mooring_client.v1 import scheduling_service_pb2 as pb

OUTCOMES = {
    BindOutcome.BOUND: pb.COMMIT_OUTCOME_BOUND,
    BindOutcome.ALREADY_BOUND: pb.COMMIT_OUTCOME_ALREADY_BOUND,
    BindOutcome.LOCAL: pb.COMMIT_OUTCOME_LOCAL,
}


def failed_status(error: MooringError) -> Status:
    """Return the status of a pod whose own commit failed with this error."""
    return Status(Code.ERROR, (error.reason,), error.metadata.get("plugin", ""))


def outcome_of(committed: Committed) -> pb.CommitOutcome.ValueType:
    """Return the wire's value for how a commit ended."""
    if not committed.status.ok:
        return pb.COMMIT_OUTCOME_UNSPECIFIED
    return OUTCOMES[committed.outcome] if committed.outcome else pb.COMMIT_OUTCOME_BOUND


def held_outcome(held: HeldPlace | None) -> pb.CommitOutcome.ValueType:
    """Return the wire's value for a pod that is reserved, given the place that it had before."""
    if held is None:
        return pb.COMMIT_OUTCOME_RESERVED
    return pb.COMMIT_OUTCOME_ALREADY_BOUND if held.bound else pb.COMMIT_OUTCOME_ALREADY_RESERVED


def outcome_word(outcome: pb.CommitOutcome.ValueType) -> str:
    """Return the outcome's name without its prefix."""
    return pb.CommitOutcome.Name(outcome).removeprefix("COMMIT_OUTCOME_")


def result_of(status: Status) -> str:
    """Return the metrics' label for a verdict on a pod."""
    if status.ok:
        return "scheduled"
    return "error" if status.code is Code.ERROR else "unschedulable"
