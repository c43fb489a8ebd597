"""The common parts of Kubernetes objects: metadata, label selectors, integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, field

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A number that the API keeps in 32 bits: decoding rejects what Go would reject."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that the API keeps in 64 bits, likewise."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` keeps the whole manifest, which may have secrets."""

HIDDEN_ANNOTATION = "(hidden)"
"""The replacement for an annotation's value that is shown or recorded."""

_READ_BY_SCHEDULING = ("kubernetes.io", "k8s.io", "mooring.dev")


def shown_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return annotations with the values hidden that scheduling has no use for: anything can be in them."""
    return {name: value if _is_read(name) else HIDDEN_ANNOTATION for name, value in annotations.items()}


def _is_read(name: str) -> bool:
    domain = name.partition("/")[0]
    return name != LAST_APPLIED and any(
        domain == read or domain.endswith(f".{read}") for read in _READ_BY_SCHEDULING
    )


class Object(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of the objects: immutable, attributes in snake_case, JSON keys as in the API.

    Only the fields that scheduling reads are there; an absent field has its API default. Objects form no
    cycles, so the garbage collector need not visit them: a cluster has a million.
    """


class OwnerReference(Object, frozen=True):
    """The object that made this one."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Object, frozen=True):
    """The metadata of an object. ``uid`` is its identity; names are reused, UIDs never."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name`` of a namespaced object, for people and logs; the identity is ``uid``."""
        return f"{self.namespace}/{self.name}"

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object; None without one."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class LabelSelectorRequirement(Object, frozen=True):
    """One condition on labels; ``operator`` is In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Object, frozen=True):
    """Conditions on labels; all of them must hold. An empty one matches everything."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Condition(Object, frozen=True):
    """An entry of ``status.conditions``."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
