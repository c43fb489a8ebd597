"""Pods to place, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_OUTCOME_UNSPECIFIED,
    CommitOutcome,
    PodColumns,
    PodTemplate,
    ScheduleRequest,
    ScheduleResponse,
)
from mooring_client.v1.verdicts_pb2 import Verdict


def source_of(pod: bytes | PodReference) -> PodSource:
    """Return a pod for a request: an object as JSON, or the name of one that the server knows."""
    if isinstance(pod, bytes):
        return PodSource(object=KubernetesObject(json=pod))
    return PodSource(reference=pod)


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods that are alike.

    Attributes:
        template: One of them, as the API server's JSON; sent and decoded once for all.
        uids: Their UIDs, all distinct.
        names: Their names, one for each UID; none = the template's for all.
    """

    template: bytes
    uids: Sequence[str]
    names: Sequence[str] = ()


class Placement(NamedTuple):
    """The result of one pod.

    Attributes:
        uid: The pod's UID.
        node: The node's name, "" = none. Without success it was selected, too, and the commit failed.
        total: The node's total score.
        verdict: Its code is ``VERDICT_CODE_SUCCESS`` for a pod that has its node, and
            ``VERDICT_CODE_PENDING`` for one that was not reached in time, which may be sent again.
        outcome: How the commit ended; ``COMMIT_OUTCOME_UNSPECIFIED`` without one.
    """

    uid: str
    node: str
    total: int
    verdict: Verdict
    outcome: CommitOutcome.ValueType


def fill(request: ScheduleRequest, groups: Sequence[Pods]) -> list[str]:
    """Put the pods into ``request`` as templates and columns; their UIDs in order.

    Raises:
        ValueError: A group has names for some of its pods only.
    """
    uids = [uid for pods in groups for uid in pods.uids]
    columns = PodColumns(uids=uids)
    named = any(pods.names for pods in groups)
    for number, pods in enumerate(groups):
        if len(pods.names) not in ((len(pods.uids),) if named else (0,)):
            raise ValueError(f"group {number} has {len(pods.names)} names for {len(pods.uids)} pods")
        request.templates.append(PodTemplate(pod=source_of(pods.template)))
        columns.template_indices.extend([number] * len(pods.uids))
        columns.names.extend(pods.names)
    request.pods.CopyFrom(columns)
    return uids


def placements(uids: Sequence[str], response: ScheduleResponse) -> list[Placement]:
    """Return the answer, pod by pod."""
    verdicts = [response.verdicts[number] for number in response.pod_verdicts]
    outcomes = response.outcomes or [COMMIT_OUTCOME_UNSPECIFIED] * len(uids)
    columns = uids, response.nodes.names.names, response.totals, verdicts, outcomes
    return [Placement(*row) for row in zip(*columns, strict=True)]
