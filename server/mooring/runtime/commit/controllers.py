"""The work of controllers for evicted pods."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.framework import Pod


def controller_of(pod: Pod) -> str:
    """Return an identity of the controller that would recreate the pod; "" = it has none."""
    owner = pod.metadata.controller
    if owner is None:
        return ""
    return owner.uid or f"{pod.metadata.namespace}/{owner.kind}/{owner.name}"


def made_anew(pod: Pod) -> Pod:
    """Return the pod that the controller of ``pod`` would make to replace it."""
    return replace(
        pod,
        spec=replace(pod.spec, node_name=""),
        status=replace(pod.status, start_time=None, nominated_node_name=""),
        metadata=replace(pod.metadata, deletion_timestamp=None),
    )
