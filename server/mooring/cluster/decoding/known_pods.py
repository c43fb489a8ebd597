"""Pods from protobuf whose template was read before: to make one anew from its message takes four times as
long.

Most of what a watch tells is of pods like others, and of pods that were told of a moment ago.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import intern

from google.protobuf.message import DecodeError

from mooring.cluster.decoding.messages import time_text
from mooring.cluster.sharing import shared_labels
from mooring.framework.memory import share_of_memory
from mooring.framework.objects import ObjectMeta, Pod
from mooring.framework.pod_table import bare_template_of, of_template
from mooring.kubernetes.v1 import pod_pb2

_MAX_BYTES = share_of_memory(256, 16 << 20)
"""At this many bytes of encoded templates all are forgotten."""

_TEMPLATE_BYTES = 256
"""What a template takes beside its encoding, when other pods share its parts."""


class KnownPods:
    """Decodes pods from bare messages, with the bare templates of those before. Safe from any thread: losing
    a template only costs time.

    Args:
        decode: Decodes one from nothing but its message.
    """

    def __init__(self, decode: Callable[[bytes], Pod]) -> None:
        self._decode = decode
        self._templates: dict[bytes, Pod] = {}
        self._bytes = 0

    def decode(self, data: bytes) -> Pod:
        """Return what ``decode`` returns. Raises what it raises."""
        try:
            message = pod_pb2.Pod.FromString(data)
            meta, node_name, start_time = _taken_out(message)
        except (DecodeError, ValueError, TypeError, OverflowError):
            return self._decode(data)
        key = message.SerializeToString(deterministic=True)
        template = self._templates.get(key)
        if template is None or not _is_usable(meta, node_name):
            pod = self._decode(data)
            self._keep(key, bare_template_of(pod))
            return pod
        labels = shared_labels(meta.labels, meta.name)
        return of_template(template, labels, meta, intern(node_name), start_time)

    def _keep(self, key: bytes, template: Pod) -> None:
        self._bytes += len(key) + _TEMPLATE_BYTES
        if self._bytes > _MAX_BYTES:
            self._templates.clear()
            self._bytes = len(key) + _TEMPLATE_BYTES
        self._templates[key] = template


def _taken_out(message: pod_pb2.Pod) -> tuple[ObjectMeta, str, str | None]:
    """Return what the pod's bare template does not have: of its metadata, its node, its start.

    Of ``message`` the rest stays, but for what nothing reads and what pods of one template may differ in.

    Raises:
        OverflowError: A time is beyond the calendar.
    """
    meta, spec, status = message.metadata, message.spec, message.status
    labels = meta.labels
    own = ObjectMeta(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        # As dict(labels), in half the time.
        labels={key: labels[key] for key in labels},
        creation_timestamp=time_text(meta.creation_timestamp),
    )
    taken = own, spec.node_name, time_text(status.start_time)
    meta.ClearField("name")
    meta.ClearField("uid")
    meta.ClearField("resource_version")
    meta.ClearField("labels")
    meta.ClearField("creation_timestamp")
    meta.ClearField("generation")
    spec.ClearField("node_name")
    status.ClearField("start_time")
    for condition in status.conditions:
        condition.ClearField("last_transition_time")
        condition.ClearField("observed_generation")
    for container in status.container_statuses:
        container.ClearField("state")
    for container in status.init_container_statuses:
        container.ClearField("state")
    message.DiscardUnknownFields()
    volumes = spec.volumes
    for at in reversed(range(len(volumes))):
        # Of a kind that scheduling ignores: its name is like no other.
        if not volumes[at].volume_source.ByteSize():
            del volumes[at]
    return taken


def _is_usable(meta: ObjectMeta, node_name: str) -> bool:
    """Return whether both can be taken as they are: nothing is missing or faulty."""
    labels = meta.labels
    try:
        "".join((meta.uid, meta.resource_version, node_name, *labels, *labels.values()))
        usable = "" not in (meta.name, meta.uid) and "/" not in meta.name
    except TypeError:  # protobuf hands over bytes where a string is not UTF-8
        return False
    return usable
