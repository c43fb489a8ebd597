"""The wire's words for how a binding ended."""

from __future__ import annotations

from mooring.framework import BindOutcome
from mooring.v1 import scheduling_service_pb2 as pb

OUTCOMES = {
    BindOutcome.BOUND: pb.BIND_OUTCOME_BOUND,
    BindOutcome.ALREADY_BOUND: pb.BIND_OUTCOME_ALREADY_BOUND,
    BindOutcome.LOCAL: pb.BIND_OUTCOME_LOCAL,
}
"""The wire's word for each outcome of a binding."""
