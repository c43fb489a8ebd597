"""The kinds of pods: properties of a template, computed once for all of its pods."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar
from weakref import WeakValueDictionary, ref

import msgspec

from mooring.cluster.interning import same_template
from mooring.framework.objects import Pod
from mooring.framework.pod_affinity import NO_TERMS, AffinityKey, AffinityTerms, affinity_key, affinity_terms
from mooring.framework.pod_classes import ClassKey, class_key
from mooring.framework.pod_requests import PodUsage, ResourceRules, pod_usage
from mooring.framework.pod_table import PodBase, PodKind, bare_template_of

PartT = TypeVar("PartT", bound=Hashable)

_PARTS = 2
"""How many parts of a base may be shared with other bases."""

_SPARE_PARTS = 1 << 8
"""How many unused parts may be kept on top of twice those in use."""

_MOST_REQUESTS, _MOST_BYTES = 1 << 6, 1 << 14
"""How many requests and bytes of terms a part may have that is kept while it is unused."""

_LATELY = 1 << 12
"""At this many kinds all are forgotten: pods with labels of their own would fill the table."""

_encode = msgspec.json.Encoder().encode


class PodKinds:
    """The kinds of pods under ``rules``, each for as long as a record or a template has it.

    Safe from any thread: losing a kind only costs time and memory.
    """

    def __init__(self, rules: ResourceRules) -> None:
        self.rules = rules
        self._bases: WeakValueDictionary[int, PodBase] = WeakValueDictionary()
        self._of_one: WeakValueDictionary[int, PodBase] = WeakValueDictionary()
        """Those whose template is the one with this identity."""
        self._parts: dict[Hashable, Hashable] = {}
        self._lately: dict[tuple[int, ClassKey], ref[PodKind]] = {}

    def of(self, pod: Pod) -> PodKind:
        """Return the kind of ``pod``; raises ResourceError if a quantity can't be used."""
        template = bare_template_of(pod)
        # It was made just now: nothing is known of it by its identity.
        return self._kind(self._base_of(template), _class_key(template, pod.metadata.labels))

    def of_template(self, template: Pod, labels: Mapping[str, str]) -> PodKind:
        """Return the kind of pods of this bare template with these labels. Raises as ``of``."""
        base = self._of_one.get(id(template))
        if base is None or base.template is not template:
            base = self._base_of(template)
        return self._kind(base, _class_key(template, labels))

    def like(self, template: Pod, kind: PodKind) -> PodKind:
        """Return the kind of pods with the labels and counts of ``kind``, and the unlabelled ``template``."""
        encoded, base = self._find(template)
        if base is None:
            base = self._keep(encoded, template, kind.usage, kind.affinity_key, kind.terms, kind.has_storage)
        return self._kind(base, kind.class_key)

    def labelled(self, kind: PodKind, labels: Mapping[str, str]) -> PodKind:
        """Return the kind of pods that differ from those of ``kind`` only in their labels."""
        return self._kind(kind.base, _class_key(kind.base.template, labels))

    def made_of(self, pod: Pod) -> PodKind:
        """As ``of``, without storing the kind: for a pod that is only evaluated."""
        template = bare_template_of(pod)
        return PodKind(
            PodBase(template, *_counted(template, self.rules), template.finished, 0),
            _class_key(pod, pod.metadata.labels),
        )

    def _base_of(self, template: Pod) -> PodBase:
        """Return the base of pods of a template that is equal to this one."""
        encoded, base = self._find(template)
        if base is None:
            template = same_template(template)
            base = self._keep(encoded, template, *_counted(template, self.rules))
        return base

    def _find(self, template: Pod) -> tuple[bytes, PodBase | None]:
        """Return the encoded template, and its base, if it is known."""
        encoded = _encoded(template)
        base = self._bases.get(hash(encoded)) if encoded else None
        return encoded, base if base is not None and base.template == template else None

    def _keep(
        self,
        encoded: bytes,
        template: Pod,
        usage: PodUsage,
        affinity: AffinityKey | None,
        terms: AffinityTerms,
        has_storage: bool,
    ) -> PodBase:
        if encoded and len(usage.requests) <= _MOST_REQUESTS:
            usage = self._one(usage)
        if encoded and affinity is not None and len(affinity[1]) <= _MOST_BYTES:
            affinity = self._one(affinity)
        base = PodBase(template, usage, affinity, terms, has_storage, template.finished, _size(encoded))
        if not encoded:
            return base
        self._bases[hash(encoded)] = self._of_one[id(template)] = base
        if len(self._parts) > 2 * _PARTS * len(self._bases) + _SPARE_PARTS:
            self._forget_parts()
        return base

    def _kind(self, base: PodBase, key: ClassKey) -> PodKind:
        """Return the one kind of both, unless it was forgotten meanwhile."""
        both = id(base), key
        seen = self._lately.get(both)
        kind = seen() if seen is not None else None
        # Another base may have replaced one.
        if kind is None or kind.base is not base:
            if len(self._lately) >= _LATELY:
                self._lately.clear()
            kind = PodKind(base, key)
            self._lately[both] = ref(kind)
        return kind

    def _forget_parts(self) -> None:
        """Keep those alone that a base has."""
        bases = [base for found in self._bases.valuerefs() if (base := found()) is not None]
        in_use = [(base.usage, base.affinity_key) for base in bases]
        self._parts = {part: part for parts in in_use for part in parts}

    def _one(self, part: PartT) -> PartT:
        """Return the part that bases with an equal one share: identical parts are compared fastest."""
        return self._parts.setdefault(part, part)  # type: ignore[return-value] # equal parts are of one type


def _encoded(template: Pod) -> bytes:
    """Return the template as JSON; empty if it has text that can't be encoded."""
    try:
        return _encode(template)
    except UnicodeEncodeError:
        return b""


def _size(encoded: bytes) -> int:
    return len(encoded) >> 14 << 14


def _counted(template: Pod, rules: ResourceRules) -> tuple[PodUsage, AffinityKey | None, AffinityTerms, bool]:
    """Return the parts of a base besides its template."""
    key = affinity_key(template)
    terms = NO_TERMS if key is None else affinity_terms(template)
    return pod_usage(template, rules), key, terms, template.has_storage


def _class_key(pod: Pod, labels: Mapping[str, str]) -> ClassKey:
    meta = pod.metadata
    return class_key(meta.namespace, labels, terminating=meta.deletion_timestamp is not None)
