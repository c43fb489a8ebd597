"""Which of some pods are alike, so that a node suits one as it suits the others."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mooring.framework import Pod

_encode = msgspec.msgpack.Encoder().encode


def alike(pods: Sequence[Pod]) -> tuple[list[Pod], list[int]]:
    """Return one pod of each template among ``pods``, and which of these each pod is like."""
    templates: list[Pod] = []
    indices: list[int] = []
    numbers: dict[bytes, int] = {}
    for pod in pods:
        if indices and _same(templates[indices[-1]], pod):
            indices.append(indices[-1])
            continue
        key = _encode(_own(pod))
        if key not in numbers:
            numbers[key] = len(templates)
            templates.append(pod)
        indices.append(numbers[key])
    return templates, indices


def _own(pod: Pod) -> tuple[object, ...]:
    meta = pod.metadata
    return pod.spec, pod.status, meta.namespace, meta.labels, meta.annotations, meta.owner_references


def _same(first: Pod, second: Pod) -> bool:
    return _own(first) == _own(second)
