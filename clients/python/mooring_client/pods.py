"""Pods to place, and where they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2 import (
    PodColumns,
    PodTemplate,
    ScheduleRequest,
    ScheduleResponse,
)
from mooring_client.v1.verdicts_pb2 import Verdict


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
    """

    uid: str
    node: str
    total: int
    verdict: Verdict


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
        source = PodSource(object=KubernetesObject(json=pods.template))
        request.templates.append(PodTemplate(pod=source))
        columns.template_indices.extend([number] * len(pods.uids))
        columns.names.extend(pods.names)
    request.pods.CopyFrom(columns)
    return uids


def placements(uids: Sequence[str], names: Sequence[str], response: ScheduleResponse) -> Iterator[Placement]:
    """Yield the answer, pod by pod; ``names`` are the selected nodes."""
    verdicts = list(response.verdicts)
    for uid, name, total, number in zip(uids, names, response.totals, response.pod_verdicts, strict=True):
        yield Placement(uid, name, total, verdicts[number])
