"""The number of pods that the quotas of a namespace still admit, counted as the API server does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mooring.cluster.api import ApiServer, decoded
from mooring.cluster.manifests.documents import read_paths
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, name_of, namespace_of, sequence
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Container
from mooring.framework.pod_requests import NEWEST_RULES, pod_amounts
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, ResourceError, parse_amounts

FROM_CLUSTER = "cluster"
"""Instead of a file: the quotas of the live cluster."""

_ONE = 10**9
_COUNTS = ("pods", "count/pods")
_PLAIN = (CPU, MEMORY, EPHEMERAL_STORAGE)


@dataclass(frozen=True, slots=True)
class NamespaceQuota:
    """A ResourceQuota.

    Attributes:
        namespace: Its namespace.
        left: By resource, what it still admits, in billionths; what it says nothing of pods is left out.
        scopes: The pods that it counts: name, operator and values of each condition.
    """

    namespace: str
    name: str
    left: Mapping[str, int]
    scopes: Sequence[tuple[str, str, Sequence[str]]]

    def admits(self, pod: Pod) -> tuple[int | None, str]:
        """Return how many more pods like this it admits, and the resource that ends it; None = any number."""
        if not all(_in_scope(pod, *scope) for scope in self.scopes):
            return None, ""
        amounts = _charged(pod)
        found: list[tuple[int, str]] = []
        for resource, left in self.left.items():
            if resource not in amounts:
                # Such a quota rejects pods that leave the amount open.
                if resource.rpartition(".")[2] in (CPU, MEMORY):
                    return 0, f"{resource}, which the pod does not specify"
            elif amounts[resource]:
                found.append((max(0, left) // amounts[resource], resource))
        return min(found, default=(None, ""))


def quotas_of(paths: Iterable[str], cluster: object = None) -> list[NamespaceQuota]:
    """Return the quotas in files, as ``kubectl get resourcequotas -A -o yaml`` prints them, or for
    ``FROM_CLUSTER`` those of ``cluster``, if that is a live one. Raises InvalidArgumentError if a file can't
    be read, there is no quota, or a quota has no status, and MooringError if the API server rejects it.
    """
    names = list(paths)
    found = [_quota(manifest, origin) for name in names for manifest, origin in _manifests(name, cluster)]
    if names and not found:
        raise InvalidArgumentError.at("--quota", f"{', '.join(names)} has no ResourceQuota")
    return found


def _manifests(name: str, cluster: object) -> Iterator[tuple[Manifest, str]]:
    """Yield the quotas that ``name`` stands for, each with its origin."""
    if name != FROM_CLUSTER:
        yield from ((each.manifest, each.origin) for each in read_paths([name]) if _is_quota(each.manifest))
        return
    if not isinstance(cluster, ApiServer):
        text = f"{FROM_CLUSTER} needs a live cluster: give --kubeconfig FILE, or name a file"
        raise InvalidArgumentError.at("--quota", text)
    response = cluster.request("GET", "/api/v1/resourcequotas")
    quotas = decoded(response, "list resourcequotas").get("items") or []
    yield from ((each, cluster.address) for each in quotas)


def admitted(quotas: Iterable[NamespaceQuota], pod: Pod) -> dict[str, tuple[int | None, str]]:
    """Return by namespace how many more pods like this its quotas admit, None = any number, and what ends it:
    a resource of a quota.
    """
    found: dict[str, tuple[int | None, str]] = {}
    for quota in quotas:
        count, resource = quota.admits(pod)
        known = found.setdefault(quota.namespace, (None, ""))
        if count is not None and (known[0] is None or count < known[0]):
            found[quota.namespace] = count, f"ResourceQuota {quota.name}: {resource}"
    return found


def _is_quota(manifest: Manifest) -> bool:
    return manifest.get("kind") == "ResourceQuota"


def _quota(manifest: Manifest, origin: str) -> NamespaceQuota:
    status = mapping(manifest, "status")
    if "used" not in status:
        text = "has no status.used; take it from the API server: kubectl get resourcequotas -A -o yaml"
        raise InvalidArgumentError.at(f"{origin}: {name_of(manifest)}", text)
    try:
        hard = parse_amounts(mapping(mapping(manifest, "spec"), "hard"), "spec.hard")
        used = parse_amounts(mapping(status, "used"), "status.used")
    except ResourceError as error:
        raise InvalidArgumentError.at(f"{origin}: {name_of(manifest)}", str(error)) from None
    left = {name: most - used.get(name, 0) for name, most in hard.items() if _is_of_pods(name)}
    return NamespaceQuota(namespace_of(manifest), name_of(manifest), left, _scopes(mapping(manifest, "spec")))


def _is_of_pods(resource: str) -> bool:
    """Return whether a quota's resource is something that pods take."""
    return resource in (*_COUNTS, *_PLAIN) or resource.startswith(("requests.", "limits.", "hugepages-"))


def _scopes(spec: Manifest) -> list[tuple[str, str, list[str]]]:
    plain: list[tuple[str, str, list[str]]] = [(str(name), "Exists", []) for name in sequence(spec, "scopes")]
    return plain + [
        (str(each.get("scopeName")), str(each.get("operator")), sequence(each, "values"))
        for each in mappings(mapping(spec, "scopeSelector"), "matchExpressions")
    ]


def _in_scope(pod: Pod, name: str, operator: str, values: Sequence[str]) -> bool:
    """Return whether a quota with such a scope counts the pod. It has no deadline: it is NotTerminating."""
    if name == "PriorityClass":
        own = pod.spec.priority_class_name
        matches = {
            "Exists": bool(own),
            "In": own in values,
            "DoesNotExist": not own,
            "NotIn": own not in values,
        }
        return matches.get(operator, False)
    asked = (_amounts(pod, limits=limits) for limits in (False, True))
    best_effort = not any(each.get(CPU) or each.get(MEMORY) for each in asked)
    return {"BestEffort": best_effort, "NotBestEffort": not best_effort}.get(name, name == "NotTerminating")


def _charged(pod: Pod) -> dict[str, int]:
    """Return by a quota's resource what a pod takes, in billionths."""
    requests, limits = _amounts(pod, limits=False), _amounts(pod, limits=True)
    return {
        **dict.fromkeys(_COUNTS, _ONE),
        **{
            name: nanos for name, nanos in requests.items() if name in _PLAIN or name.startswith("hugepages-")
        },
        **{f"requests.{name}": nanos for name, nanos in requests.items()},
        **{f"limits.{name}": nanos for name, nanos in limits.items()},
    }


def _amounts(pod: Pod, *, limits: bool) -> Mapping[str, int]:
    """Return the pod's requests in billionths, or its limits, which add up alike."""
    if limits:
        spec = pod.spec
        containers = tuple(map(_by_limits, spec.containers))
        first = tuple(map(_by_limits, spec.init_containers))
        pod = replace(pod, spec=replace(spec, containers=containers, init_containers=first))
    return {name: nanos for name, nanos in pod_amounts(pod, NEWEST_RULES).items() if name != "pods"}


def _by_limits(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, requests=container.resources.limits))
