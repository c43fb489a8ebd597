"""What pods of one template are and count as, worked out once for all of them."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec

from mooring.cluster.sharing import SeenLately, same_template
from mooring.framework.objects import Pod
from mooring.framework.pod_affinity import AffinityKey, affinity_key
from mooring.framework.pod_classes import ClassKey
from mooring.framework.pod_table import PodKind, template_of
from mooring.framework.resources import PodUsage, ResourceRules, pod_usage

PartT = TypeVar("PartT", bound=Hashable)

_PARTS = 2
"""How many parts of a kind may be shared with other kinds."""

_SPARE_PARTS = 1 << 8
"""How many unused parts may be kept on top of twice those in use."""

_encode = msgspec.json.Encoder().encode


class PodKinds:
    """The kinds of pods under ``rules``, each for as long as a record or a template has it.

    Safe from any thread: losing a kind only costs time and memory.
    """

    def __init__(self, rules: ResourceRules) -> None:
        self.rules = rules
        self._known: WeakValueDictionary[int, PodKind] = WeakValueDictionary()
        self._parts: dict[Hashable, Hashable] = {}
        self._class_keys: SeenLately[ClassKey] = SeenLately()

    def of(self, pod: Pod) -> PodKind:
        """Return the kind of ``pod``.

        Raises:
            ResourceError: A quantity can't be used.
        """
        template = template_of(pod)
        key, kind = self._find(template)
        if kind is not None or key is None:
            return kind or self.made_of(pod)
        template = same_template(template)
        return self._keep(key, template, *_counted(template, self.rules))

    def like(self, template: Pod, kind: PodKind) -> PodKind:
        """Return the kind of pods like ``template``, who count as those of ``kind`` but for their labels."""
        key, known = self._find(template)
        if known is not None:
            return known
        counted = kind.usage, _class_key(template), kind.affinity_key, kind.has_storage
        return PodKind(template, *counted) if key is None else self._keep(key, template, *counted)

    def made_of(self, pod: Pod) -> PodKind:
        """As ``of``, without storing the kind: for a pod that is only evaluated."""
        template = template_of(pod)
        return PodKind(template, *_counted(template, self.rules))

    def _find(self, template: Pod) -> tuple[int | None, PodKind | None]:
        """Return under which key the kind is kept, None where that can't be, and the kind, if it is known."""
        try:
            key = hash(_encode(template))
        except UnicodeEncodeError:
            return None, None
        kind = self._known.get(key)
        return key, kind if kind is not None and kind.template == template else None

    def _keep(
        self,
        key: int,
        template: Pod,
        usage: PodUsage,
        class_key: ClassKey,
        affinity: AffinityKey | None,
        has_storage: bool,
    ) -> PodKind:
        namespace, labels, _ = class_key
        class_key = self._class_keys.one(class_key, hash(class_key), len(namespace) + sum(map(len, labels)))
        kind = PodKind(template, self._one(usage), class_key, self._one(affinity), has_storage)
        self._known[key] = kind
        if len(self._parts) > 2 * _PARTS * len(self._known) + _SPARE_PARTS:
            self._forget_parts()
        return kind

    def _forget_parts(self) -> None:
        """Keep those alone that a kind has."""
        kinds = [kind for found in self._known.valuerefs() if (kind := found()) is not None]
        in_use = [(kind.usage, kind.affinity_key) for kind in kinds]
        self._parts = {part: part for parts in in_use for part in parts}

    def _one(self, part: PartT) -> PartT:
        """Return the part to keep for all kinds that have an equal one: what is identical is compared
        fastest.
        """
        return self._parts.setdefault(part, part)  # type: ignore[return-value] # equal parts are of one type


def _counted(template: Pod, rules: ResourceRules) -> tuple[PodUsage, ClassKey, AffinityKey | None, bool]:
    """Return what a kind has beside its template."""
    storage = any(volume.is_storage for volume in template.spec.volumes)
    return pod_usage(template, rules), _class_key(template), affinity_key(template), storage


def _class_key(pod: Pod) -> ClassKey:
    meta = pod.metadata
    labels = tuple(chain.from_iterable(sorted(meta.labels.items()))) if meta.labels else ()
    return meta.namespace, labels, meta.deletion_timestamp is not None
