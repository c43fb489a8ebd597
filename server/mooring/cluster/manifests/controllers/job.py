"""Pods that run to their end. Mirrors pkg/controller/job, and pkg/registry/batch/job/strategy.go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from mooring.cluster.manifests.controllers.known import KnownManifests, has_succeeded
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import mapping, mappings

INDEX = "batch.kubernetes.io/job-completion-index"
"""The label and annotation with a pod's number among those of an indexed Job."""


def job_pods(owner: WorkloadManifest, known: KnownManifests) -> Iterator[Document]:
    """Yield the pods that a Job starts now: a suspended or finished one starts none."""
    if owner.spec.get("suspend") is True or _is_finished(owner):
        return
    active = known.active_pods(owner)
    succeeded = [pod for pod in known.owned(owner, "Pod") if has_succeeded(pod)]
    missing = _wanted(owner, len(succeeded)) - len(active)
    if owner.spec.get("completionMode") == "Indexed":
        taken = {_index(pod) for pod in (*active, *succeeded)} | _completed_indexes(owner)
        for index in islice((index for index in count() if index not in taken), max(missing, 0)):
            yield _indexed_pod(owner, index)
    else:
        for name in known.free_pod_names(owner, missing):
            yield owner.pod(name, _labels(owner))


def _wanted(owner: WorkloadManifest, succeeded: int) -> int:
    """Return how many pods may run at once; without ``completions`` the first that succeeds ends the Job."""
    parallelism = owner.count("parallelism", default=1)
    completions = owner.count("completions", default=parallelism)
    succeeded = max(owner.counted("succeeded"), succeeded)
    if owner.spec.get("completions") is None and succeeded:
        return 0
    return min(parallelism, completions - succeeded)


def _is_finished(owner: WorkloadManifest) -> bool:
    return any(
        condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"
        for condition in mappings(owner.status, "conditions")
    )


def _indexed_pod(owner: WorkloadManifest, index: int) -> Document:
    numbered = {INDEX: str(index)}
    return owner.pod(owner.pod_name(index), {**_labels(owner), **numbered}, numbered)


def _labels(owner: WorkloadManifest) -> dict[str, str]:
    """Return what the API server adds to the template, unless the selector is the user's own."""
    if owner.spec.get("manualSelector") is True:
        return {}
    own = {"controller-uid": owner.uid, "job-name": owner.name}
    return {**own, **{f"batch.kubernetes.io/{key}": value for key, value in own.items()}}


def _index(pod: Document) -> int:
    text = str(mapping(mapping(pod.manifest, "metadata"), "annotations").get(INDEX) or "")
    return int(text) if text.isdecimal() else -1


def _completed_indexes(owner: WorkloadManifest) -> set[int]:
    """``status.completedIndexes``, as in ``1,3-5``."""
    done: set[int] = set()
    for part in str(owner.status.get("completedIndexes") or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            done |= set(range(int(first), int(last or first) + 1))
    return done
