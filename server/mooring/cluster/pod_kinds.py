"""What pods of one template are and count as, worked out once for all of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

import msgspec

from mooring.cluster.sharing import same_template
from mooring.framework.objects import Pod
from mooring.framework.pod_affinity import AffinityKey, affinity_key
from mooring.framework.pod_table import ClassKey, PodKind, template_of
from mooring.framework.resources import PodUsage, ResourceRules, pod_usage

PartT = TypeVar("PartT", bound=Hashable)

_MOST_KNOWN = 1 << 16
"""At this many kinds all are forgotten, with them those that no pod is of any more."""

_encode = msgspec.json.Encoder().encode


class PodKinds:
    """The kinds of pods under ``rules``. Safe from any thread: losing a kind only costs time and memory."""

    def __init__(self, rules: ResourceRules) -> None:
        self.rules = rules
        self._known: dict[int, PodKind] = {}
        self._parts: dict[Hashable, Hashable] = {}

    def of(self, pod: Pod) -> PodKind:
        """The kind of ``pod``.

        Raises:
            ResourceError: A quantity can't be used.
        """
        template = template_of(pod)
        try:
            key = hash(_encode(template))
        except UnicodeEncodeError:
            return self.made_of(pod)
        kind = self._known.get(key)
        if kind is None or kind.template != template:
            template = same_template(template)
            usage, class_key, affinity, has_storage = _counted(template, self.rules)
            kind = PodKind(template, self._one(usage), self._one(class_key), self._one(affinity), has_storage)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
                self._parts.clear()
            self._known[key] = kind
        return kind

    def made_of(self, pod: Pod) -> PodKind:
        """The same, of which nothing is remembered: for a pod that is only asked about."""
        template = template_of(pod)
        return PodKind(template, *_counted(template, self.rules))

    def _one(self, part: PartT) -> PartT:
        """The part to keep for all kinds that have an equal one: what is identical is compared fastest."""
        return self._parts.setdefault(part, part)  # type: ignore[return-value] # equal parts are of one type


def _counted(template: Pod, rules: ResourceRules) -> tuple[PodUsage, ClassKey, AffinityKey | None, bool]:
    """What a kind has beside its template."""
    storage = any(volume.is_storage for volume in template.spec.volumes)
    return pod_usage(template, rules), _class_key(template), affinity_key(template), storage


def _class_key(pod: Pod) -> ClassKey:
    meta = pod.metadata
    return (meta.namespace, frozenset(meta.labels.items()), meta.deletion_timestamp is not None)
