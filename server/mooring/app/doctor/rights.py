"""Checks of rights: whether mooring's user may do what its mode needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mooring.app.doctor.findings import EXTENDER, SCHEDULER, Diagnosis, Health, Patient
from mooring.cluster.api import RESOURCES, decoded

Rights = Mapping[tuple[str, str], tuple[str, ...]]
"""By API group and resource, with its subresource, the verbs."""

READ: Final = ("get", "list", "watch")

BINDING: Final[Rights] = {
    ("", "pods/binding"): ("create",),
    ("", "pods/status"): ("patch",),
    ("", "persistentvolumeclaims"): ("patch",),
    ("", "persistentvolumes"): ("patch",),
    ("resource.k8s.io", "resourceclaims"): ("create", "delete", "update"),
    ("resource.k8s.io", "resourceclaims/status"): ("patch",),
    ("resource.k8s.io", "resourceclaims/binding"): ("patch",),
}
"""The rights for binding, besides those for reading."""

SCHEDULING: Final[Rights] = {
    ("", "pods/status"): ("patch",),
    ("", "pods"): ("delete",),
    ("scheduling.k8s.io", "podgroups/status"): ("patch",),
    ("events.k8s.io", "events"): ("create", "patch"),
    ("authentication.k8s.io", "tokenreviews"): ("create",),
    ("authorization.k8s.io", "subjectaccessreviews"): ("create",),
}
"""The further rights of the second scheduler."""

_REVIEWS: Final = "/apis/authorization.k8s.io/v1"
_FILES: Final = {
    "read": "deploy/base/reader.yaml",
    "bind": "deploy/components/binding",
    "schedule": "deploy/overlays/second-scheduler/scheduler.yaml",
}


def check_rights(patient: Patient) -> Iterator[Diagnosis]:
    """Yield which rights are missing, or that none is. Raises MooringError if the API server does not say."""
    who, asked, missing = patient.user or _own_name(patient), 0, 0
    for purpose, rights in _needed(patient).items():
        for (group, resource), verbs in rights.items():
            denied = [verb for verb in verbs if not may(patient, _attributes(group, resource, verb))]
            asked += len(verbs)
            missing += len(denied)
            if denied:
                said = f"{who} may not {', '.join(denied)} {resource}{group and f'.{group}'}"
                yield Diagnosis("rights", Health.FAULT, said, f"grant it, as {_FILES[purpose]} does")
    yield from _lease_rights(patient, who)
    if not missing:
        yield Diagnosis("rights", Health.OK, f"{who} has all {asked} rights that {patient.mode} needs")


def may(patient: Patient, attributes: Mapping[str, Any], user: str = "") -> bool:
    """Return whether a user, by default the patient's, may do something. ``attributes`` are
    ``resourceAttributes`` or ``nonResourceAttributes`` of the review. Raises MooringError if the API server
    does not say.
    """
    user = user or patient.user
    kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
    spec = {**attributes, **({"user": user, "groups": _groups(user)} if user else {})}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    response = patient.api.request("POST", f"{_REVIEWS}/{kind.lower()}s", body=body)
    return bool((decoded(response, f"create a {kind}").get("status") or {}).get("allowed"))


def _needed(patient: Patient) -> dict[str, Rights]:
    kinds = (RESOURCES[kind] for kind in patient.kinds)
    read = {(kind.versions[0].rpartition("/")[0], kind.plural): READ for kind in kinds}
    return {
        "read": read,
        **({} if patient.mode == EXTENDER else {"bind": BINDING}),
        **({"schedule": SCHEDULING} if patient.mode == SCHEDULER else {}),
    }


def _lease_rights(patient: Patient, who: str) -> Iterator[Diagnosis]:
    election = patient.configuration.document.leader_election
    if not election.leader_elect:
        return
    namespace, name = election.resource_namespace, election.resource_name
    for verb, on in (("create", ""), ("get", name), ("update", name)):
        if not may(patient, _attributes("coordination.k8s.io", "leases", verb, namespace, on)):
            said = f"{who} may not {verb} {f'the lease {on}' if on else 'leases'} in {namespace}"
            yield Diagnosis("rights", Health.FAULT, said, "grant it, as the Role mooring-lease does")


def _attributes(group: str, resource: str, verb: str, namespace: str = "", name: str = "") -> dict[str, Any]:
    plural, _, subresource = resource.partition("/")
    given = {"group": group, "resource": plural, "subresource": subresource, "verb": verb}
    return {"resourceAttributes": {**given, "namespace": namespace, "name": name}}


def _groups(user: str) -> list[str]:
    """Return the groups that the API server gives a ServiceAccount."""
    groups = ["system:authenticated"]
    if user.startswith("system:serviceaccount:"):
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}"]
    return groups


def _own_name(patient: Patient) -> str:
    """Return the name of the one who asks."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    response = patient.api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    said = decoded(response, "ask who this is") if response.ok else {}
    user: dict[str, str] = (said.get("status") or {}).get("userInfo") or {}
    return user.get("username") or "this user"
