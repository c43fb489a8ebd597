"""Pods from protobuf whose template was read before: making one from its whole message takes four times as
long.

Most events of a watch are about pods like others, and about pods of earlier events.
"""

from __future__ import annotations

from sys import intern

from mooring.cluster.decoding.messages import object_from, time_text
from mooring.cluster.interning import InternTable, same_template, shared_labels
from mooring.cluster.pod_parts import PodParts
from mooring.framework.memory import share_of_memory
from mooring.framework.objects import ObjectMeta, Pod
from mooring.framework.pod_table import bare_template_of
from mooring.kubernetes.v1 import pod_pb2

_MAX_BYTES = share_of_memory(64, 128 << 20)
"""The most bytes of templates."""


class KnownPods:
    """Decodes pods from messages, with the bare templates of those before. Safe from any thread: losing a
    template only costs time.
    """

    def __init__(self) -> None:
        self._templates: InternTable[bytes, Pod] = InternTable(_MAX_BYTES)

    def decode(self, message: pod_pb2.Pod) -> PodParts:
        """Return the pod in ``message``, which has only a part of its fields left afterwards. Raises
        InvalidArgumentError if it can't be used.
        """
        taken = _taken_out(message)
        if taken is None:
            return PodParts.of(object_from(message, Pod))
        own, node_name, start_time = taken
        _leave_template(message)
        key = message.SerializeToString(deterministic=True)
        template = self._templates.parts.get(key)
        if template is None:
            template = same_template(bare_template_of(object_from(message, Pod, named=False)))
            self._templates.keep(key, template, len(key))
        return PodParts(template, shared_labels(own.labels, own.name), own, intern(node_name), start_time)


def _taken_out(message: pod_pb2.Pod) -> tuple[ObjectMeta, str, str | None] | None:
    """Return what pods of one template differ in: metadata, node and start; None if one can't be used."""
    meta, node_name = message.metadata, message.spec.node_name
    labels = meta.labels
    try:
        own = ObjectMeta(
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
            # As dict(labels), in half the time.
            labels={key: labels[key] for key in sorted(labels)},
            creation_timestamp=time_text(meta.creation_timestamp),
        )
        start_time = time_text(message.status.start_time)
        "".join((own.uid, own.resource_version, node_name, *own.labels, *own.labels.values()))
        missing = "" in (own.name, own.uid) or "/" in own.name
    except (TypeError, OverflowError):
        # Protobuf hands over bytes where a string is not UTF-8; a time may be beyond the calendar.
        return None
    return None if missing else (own, node_name, start_time)


def _leave_template(message: pod_pb2.Pod) -> None:
    """Remove the fields that the bare template lacks, and the unread ones in which such pods differ."""
    meta, spec, status = message.metadata, message.spec, message.status
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
    for containers in (status.container_statuses, status.init_container_statuses):
        for container in containers:
            container.ClearField("state")
    message.DiscardUnknownFields()
    volumes = spec.volumes
    for at in reversed(range(len(volumes))):
        # A kind that scheduling ignores: its name equals no other.
        if not volumes[at].volume_source.ByteSize():
            del volumes[at]
