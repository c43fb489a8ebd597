"""Candidates of preemption on the wire."""

from __future__ import annotations

from mooring.framework import Pod
from mooring.framework.objects import ObjectMeta
from mooring.framework.objects.pod import PodSpec
from mooring.framework.preemption import Candidate
from mooring.service.wire.objects import pod_reference
from mooring.v1 import objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb


def candidate_message(candidate: Candidate) -> pb.PreemptionCandidate:
    """Encode a candidate; its victims are references."""
    return pb.PreemptionCandidate(
        node=candidate.node_name,
        victims=[objects_pb2.PodSource(reference=pod_reference(victim)) for victim in candidate.victims],
        pdb_violation_count=candidate.violations,
        victim_priorities=[victim.priority for victim in candidate.victims],
        violated_budgets=candidate.budgets,
    )


def candidate_of(message: pb.PreemptionCandidate) -> Candidate:
    """Decode a candidate of an answer; of its victims name, UID and priority are known."""
    victims = [
        Pod(
            ObjectMeta(victim.reference.name, victim.reference.namespace, victim.reference.uid),
            PodSpec(priority=priority),
        )
        for victim, priority in zip(message.victims, message.victim_priorities, strict=True)
    ]
    budgets = tuple(message.violated_budgets)
    return Candidate(message.node, tuple(victims), message.pdb_violation_count, budgets)
