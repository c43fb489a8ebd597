"""How many disruptions a PodDisruptionBudget allows. Mirrors pkg/controller/disruption."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from mooring.cluster.kinds import ClusterObject, kind_in_files
from mooring.cluster.manifests.controllers.known import KnownManifests
from mooring.cluster.manifests.fields import Manifest, mapping, mappings
from mooring.framework.label_selector import SelectorError, compiled
from mooring.framework.objects import OwnerReference, Pod, PodDisruptionBudget, PodDisruptionBudgetStatus


class _NoScaleError(Exception):
    """The desired number of pods is unknown, so the budget allows no disruption."""


def with_statuses(
    objects: Sequence[ClusterObject], specs: Sequence[Manifest], known: KnownManifests
) -> list[ClusterObject]:
    """Return the objects; each budget without a status gets the one that the controller would write.
    ``specs`` are the objects' specs as written in the manifests.
    """
    pods: dict[str, list[Pod]] = defaultdict(list)
    for item in objects:
        if isinstance(item, Pod):
            pods[item.metadata.namespace].append(item)
    return [
        _with_status(item, spec, pods[item.metadata.namespace], known)
        if isinstance(item, PodDisruptionBudget)
        else item
        for item, spec in zip(objects, specs, strict=True)
    ]


def _with_status(
    budget: PodDisruptionBudget, spec: Manifest, pods: Iterable[Pod], known: KnownManifests
) -> PodDisruptionBudget:
    if budget.status != PodDisruptionBudgetStatus() or budget.spec.selector is None:
        return budget
    try:
        matches = compiled(budget.spec.selector).matches
        mine = [pod for pod in pods if matches(pod.metadata.labels)]
        expected, desired = _wanted(spec, mine, known)
    except (SelectorError, _NoScaleError):
        return budget
    healthy = sum(map(_is_healthy, mine))
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    status = PodDisruptionBudgetStatus(
        disruptions_allowed=allowed, current_healthy=healthy, desired_healthy=desired, expected_pods=expected
    )
    return replace(budget, status=status)


def _wanted(spec: Manifest, pods: list[Pod], known: KnownManifests) -> tuple[int, int]:
    """Return how many pods there should be, and how many of them have to be healthy."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most is not None:
        expected = _scale(pods, known)
        return expected, max(expected - _amount(most, expected), 0)
    if isinstance(least, int):
        return len(pods), least
    expected = 0 if least is None else _scale(pods, known)
    return expected, _amount(least or 0, expected)


def _amount(value: object, whole: int) -> int:
    """Return a number as given; a percentage as a share of ``whole``, rounded up."""
    if isinstance(value, int):
        return value
    percent = str(value).removesuffix("%")
    if not percent.isdecimal() or percent == value:
        raise _NoScaleError
    return -(-int(percent) * whole // 100)


def _scale(pods: list[Pod], known: KnownManifests) -> int:
    """Return how many pods the controllers of ``pods`` want together."""
    scales: dict[str, int] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is None:
            continue
        uid, wanted = _wanted_by(owner, pod.metadata.namespace, known)
        # If the files lack the controller, the number of its pods in them counts as the desired one.
        scales[uid] = scales.get(uid, 0) + 1 if wanted is None else wanted
    return sum(scales.values())


def _wanted_by(owner: OwnerReference, namespace: str, known: KnownManifests) -> tuple[str, int | None]:
    """Return the controller that has a scale, and its scale; None = the manifests lack it."""
    kind = kind_in_files(owner.kind, owner.api_version)
    if kind in ("DaemonSet", "Job"):
        raise _NoScaleError
    manifest = known.get(kind, namespace, owner.name)
    if manifest is None:
        return owner.uid, None
    for above in mappings(mapping(manifest, "metadata"), "ownerReferences"):
        deployment = known.get("Deployment", namespace, str(above.get("name")))
        if above.get("kind") == "Deployment" and deployment is not None:
            return f"{namespace}/{above['name']}", _replicas(deployment)
    return owner.uid, _replicas(manifest)


def _replicas(manifest: Manifest) -> int:
    wanted = mapping(manifest, "spec").get("replicas")
    return wanted if isinstance(wanted, int) else 1


def _is_healthy(pod: Pod) -> bool:
    """Return whether the pod is ready; a pod without conditions is ready at once."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if not pod.status.conditions:
        return pod.status.phase in ("", "Running")
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
