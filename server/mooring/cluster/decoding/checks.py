"""Checks of decoded objects, and the identity that an object gets when it came without one."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from mooring.cluster.decoding.errors import rejected
from mooring.cluster.decoding.quantities import check_quantities
from mooring.cluster.interning import shared
from mooring.cluster.kinds import NAMESPACED, ClusterObject, default_uid
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_requests import pod_usage
from mooring.framework.resources import ResourceError, allocatable

ObjectT = TypeVar("ObjectT", bound=ClusterObject)

DEFAULT_NAMESPACE = "default"


def checked(item: ObjectT, *, named: bool = True) -> ObjectT:
    """``item`` with namespace and UID, made of shared parts; its name and quantities are usable.

    An object of a namespaced kind is in ``default`` when it names no namespace, one of another kind in none.
    An object without a UID gets one that is made of its kind, namespace and name, so that it is the same each
    time.

    Args:
        item: The object as decoded.
        named: Whether a name is required; a template has none.

    Raises:
        InvalidArgumentError: The name is missing, or a quantity can't be used; has the field's path.
    """
    meta = item.metadata
    if named and not meta.name:
        raise rejected("metadata.name", "a name is required")
    for field, word in (("name", meta.name), ("namespace", meta.namespace)):
        if "/" in word:
            raise rejected(f"metadata.{field}", f"{word[:80]!r} has a slash")
    namespace = meta.namespace or DEFAULT_NAMESPACE if type(item) in NAMESPACED else ""
    uid = meta.uid
    if not uid and meta.name:
        uid = default_uid(type(item).__name__, namespace, meta.name)
    if namespace != meta.namespace or uid != meta.uid:
        item = replace(item, metadata=replace(meta, namespace=namespace, uid=uid))
    try:
        return shared(item, _check_amounts)
    except ResourceError as error:
        raise rejected(error.path, str(error)) from None


def _check_amounts(item: ClusterObject) -> None:
    if isinstance(item, Pod):
        pod_usage(item)
    elif isinstance(item, Node):
        allocatable(item.status.allocatable)
    else:
        check_quantities(item)
