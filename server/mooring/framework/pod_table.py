"""The cluster's pods: their nodes, their requests, and the kinds of pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from mooring.framework.objects import ObjectMeta, Pod
from mooring.framework.pod_affinity import AffinityKey, AffinityTerms
from mooring.framework.pod_classes import ClassKey, PodClasses, labels_of_class
from mooring.framework.pod_requests import PodUsage
from mooring.framework.remembering import ByIdentity
from mooring.kernels.arrays import Int64s

UNPLACED = -1
"""The row of a pod that is on no known node."""


@dataclass(slots=True)
class AffinityClass:
    """Pods of one namespace with the same affinity to other pods.

    Attributes:
        key: Its identity.
        terms: Their terms.
        counts: How many of them each node row has; a pod is matched with the terms once, not once per pod.
        column: int64[capacity when it was made], the same for all rows, once many of them have any; rows
            beyond its end have none.
    """

    key: AffinityKey
    terms: AffinityTerms
    counts: dict[int, int] = field(default_factory=dict)
    column: Int64s | None = None


class PodBase(msgspec.Struct, frozen=True, weakref=True):
    """The common parts of pods that differ only in identity and labels, such as those of a
    StatefulSet; computed once for all of them.

    Attributes:
        template: ``template_of`` any of them, without labels.
        usage: The amounts that one takes from its node.
        affinity_key: Its class in ``PodTable.affinities``; None when it has no terms about other pods.
        terms: These terms, made ready when the first such pod came.
        has_storage: Whether it has a claim or a disk.
        finished: Whether it has ended.
        size: Bytes of the encoded template, in whole steps of 16 KiB: equal ones may differ by a few bytes.
            In memory it takes several times as much. 0 for pods that are only evaluated.
    """

    template: Pod
    usage: PodUsage
    affinity_key: AffinityKey | None
    terms: AffinityTerms
    has_storage: bool
    finished: bool
    size: int


class PodKind(msgspec.Struct, frozen=True, weakref=True):
    """The common parts of pods of one template. There may be as many as pods, so they are kept small.

    Attributes:
        base: The parts shared with pods that have other labels.
        class_key: Their class in ``PodTable.classes``, which has their labels.
    """

    base: PodBase
    class_key: ClassKey

    @property
    def usage(self) -> PodUsage:
        """The amounts that one takes from its node."""
        return self.base.usage

    @property
    def affinity_key(self) -> AffinityKey | None:
        """As the base has it."""
        return self.base.affinity_key

    @property
    def has_storage(self) -> bool:
        """Whether it has a claim or a disk."""
        return self.base.has_storage

    @property
    def size(self) -> int:
        """About how many bytes it takes encoded: those of its base, and its labels by their number."""
        return self.base.size + (len(self.class_key) << 7)

    @property
    def namespace(self) -> str:
        """Their namespace."""
        return self.base.template.metadata.namespace

    @property
    def labels(self) -> dict[str, str]:
        """Their labels, made on each access."""
        return labels_of_class(self.class_key)

    @property
    def template(self) -> Pod:
        """``template_of`` any of them, the same object while a few thousand kinds are read alternately;
        ``base.template`` is there, without labels.
        """
        return _templates(self)

    @property
    def terms(self) -> AffinityTerms:
        """Their terms about other pods."""
        return self.base.terms


def _labelled_template(kind: PodKind) -> Pod:
    bare = kind.base.template
    return Pod(replace(bare.metadata, labels=kind.labels), bare.spec, bare.status)


_templates = ByIdentity(_labelled_template, most=1 << 12)


class PodRecord(msgspec.Struct, frozen=True, gc=False):
    """One pod in the state: what it does not share with its kind. A change makes a new record, so a
    reader may keep one.

    Attributes:
        kind: The parts shared with other pods of its template; its classes are in the table while
            one of their pods is placed.
        row: The row of its node, or ``UNPLACED``.
        assumed: A decision placed it and the API server hasn't confirmed that yet.
        name: Its name.
        uid: Its UID.
        node_name: Its node, also while it is only assumed; "" = none.
        resource_version: As in its metadata.
        creation_timestamp: As in its metadata.
        start_time: As in its status.
    """

    kind: PodKind
    row: int
    assumed: bool
    name: str
    uid: str
    node_name: str
    resource_version: str
    creation_timestamp: str | None
    start_time: str | None

    @property
    def pending(self) -> bool:
        """Whether the pod has no node and is not being deleted."""
        return not (self.node_name or self.kind.base.template.metadata.deletion_timestamp)

    @classmethod
    def of(
        cls, pod: Pod, kind: PodKind, row: int, node_name: str | None = None, *, assumed: bool = False
    ) -> PodRecord:
        """Return the record of ``pod``, which is of ``kind``; ``node_name`` replaces its own
        node.
        """
        meta = pod.metadata
        return cls(
            kind,
            row,
            assumed,
            meta.name,
            meta.uid,
            pod.spec.node_name if node_name is None else node_name,
            meta.resource_version,
            meta.creation_timestamp,
            pod.status.start_time,
        )

    @classmethod
    def assumed_of(
        cls,
        pod: Pod,
        kind: PodKind,
        names: Iterable[str],
        uids: Iterable[str],
        rows: Iterable[int],
        node_names: Iterable[str],
        known: Iterable[PodRecord | None],
    ) -> list[PodRecord]:
        """Return the records of assumed pods that differ from ``pod``, one of ``kind``, in name and UID
        alone; version and times of ``known`` records stay.
        """
        return [
            cls(
                kind,
                row,
                True,
                name,
                uid,
                node_name,
                (own := was or pod.metadata).resource_version,
                own.creation_timestamp,
                (was or pod.status).start_time,
            )
            for name, uid, row, node_name, was in zip(names, uids, rows, node_names, known, strict=True)
        ]

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.kind.namespace

    def says_what(self, other: PodRecord) -> bool:
        """Return whether ``other`` is of an equal object; rows and decisions aside."""
        return (self.kind is other.kind or _says_what(self.kind, other.kind)) and (
            replace(self, kind=other.kind, row=other.row, assumed=other.assumed) == other
        )

    @property
    def with_claims(self) -> Pod:
        """The pod for searching its claims; its identity is included only if one of them is made for it."""
        template = self.kind.base.template
        return self.pod if template.ephemeral_claim_names else template

    @property
    def pod(self) -> Pod:
        """The whole object, built on each access."""
        kind = self.kind
        return of_template(kind.base.template, kind.labels, self, self.node_name, self.start_time)


def _says_what(one: PodKind, other: PodKind) -> bool:
    return one.class_key == other.class_key and one.base.template == other.base.template


def of_template(
    template: Pod,
    labels: Mapping[str, str],
    own: ObjectMeta | PodRecord,
    node_name: str,
    start_time: str | None,
) -> Pod:
    """Return the pod whose ``bare_template_of`` is ``template``, with the fields that it leaves out."""
    spec, status = template.spec, template.status
    return Pod(
        replace(
            template.metadata,
            name=own.name,
            uid=own.uid,
            labels=labels,
            resource_version=own.resource_version,
            creation_timestamp=own.creation_timestamp,
        ),
        replace(spec, node_name=node_name) if node_name else spec,
        replace(status, start_time=start_time) if start_time is not None else status,
    )


def template_of(pod: Pod) -> Pod:
    """Return ``pod`` without the fields that differ between siblings: identity, node and times."""
    return _without_its_own(pod, pod.metadata.labels)


def bare_template_of(pod: Pod) -> Pod:
    """``template_of(pod)`` without labels, which are often a pod's own as well."""
    return _without_its_own(pod, {})


def _without_its_own(pod: Pod, labels: Mapping[str, str]) -> Pod:
    spec, status = pod.spec, pod.status
    return Pod(
        replace(pod.metadata, name="", uid="", labels=labels, resource_version="", creation_timestamp=None),
        replace(spec, node_name="") if spec.node_name else spec,
        replace(status, start_time=None) if status.start_time is not None else status,
    )


def kind_like(pod: Pod, kind: PodKind) -> PodKind:
    """Return the kind of ``pod``, which differs from the pods of ``kind`` in its volumes and claims alone.

    It is stored nowhere: no other pod has the same claims.
    """
    template, terms = bare_template_of(pod), kind.terms
    size = kind.base.size
    base = PodBase(template, kind.usage, kind.affinity_key, terms, pod.has_storage, pod.finished, size)
    return PodKind(base, kind.class_key)


PodChange = tuple[int, PodRecord, int]
"""A pod came to a node (1) or left it (-1): the node's row, the pod, and which of the two."""


@dataclass(slots=True)
class PodTable:
    """All pods that are not finished, by UID. Read-only for plugins.

    Attributes:
        records: By UID.
        with_storage: UIDs of the pods with a claim or a disk on each node row, in the order of their coming.
        claim_users: UIDs of the placed pods that name each claim, by its namespace and name.
        ephemeral_users: The same for the claims that are made for ephemeral volumes.
        priorities: How many placed pods have each priority.
        classes: The placed pods as selectors see them, and where each is.
        affinities: The distinct sets of pod affinity and anti-affinity terms of placed pods.
        selected_keys: The label keys that the terms of placed pods, services and controllers name; now and
            then also keys that none names. A new set object when it changes.
        nominated: UIDs of the pods without a node, by the name of their nominated node.
        groups: UIDs of the pods of each pod group, placed or not, by its namespace and name.
        pending_count: How many pods are pending.
        assumed_count: How many pods are assumed: no source has delivered them with their node yet.
    """

    records: dict[str, PodRecord] = field(default_factory=dict)
    with_storage: dict[int, dict[str, None]] = field(default_factory=dict)
    claim_users: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    ephemeral_users: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    priorities: dict[int, int] = field(default_factory=dict)
    classes: PodClasses = field(default_factory=PodClasses)
    affinities: dict[AffinityKey, AffinityClass] = field(default_factory=dict)
    selected_keys: frozenset[str] = frozenset()
    nominated: dict[str, dict[str, None]] = field(default_factory=dict)
    groups: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    pending_count: int = 0
    assumed_count: int = 0

    def __len__(self) -> int:
        """How many pods there are, placed or not."""
        return len(self.records)

    def get(self, uid: str) -> PodRecord | None:
        """Return the pod with this UID."""
        return self.records.get(uid)

    def on_row(self, row: int) -> Iterator[Pod]:
        """Return the pods on a node, in the order in which they came."""
        return (record.pod for record in self.records_on(row))

    def records_on(self, row: int) -> Iterator[PodRecord]:
        """Yield the records of the pods on a node, which is cheaper than the pods."""
        return self._records(self.classes.uids_on(row))

    def with_storage_on(self, row: int) -> Iterator[Pod]:
        """Return the pods on a node that have a claim or a disk, in the order in which they came.

        A pod's own name and UID are there only if one of its claims is made for it.
        """
        return (record.with_claims for record in self._records(self.with_storage.get(row, ())))

    def in_group(self, group: tuple[str, str]) -> Iterator[Pod]:
        """Return the pods of a pod group, in the order in which they came."""
        return (record.pod for record in self._records(self.groups.get(group, {})))

    def placed_in_group(self, group: tuple[str, str]) -> Iterator[Pod]:
        """Return those of ``in_group`` that have a node."""
        records = self._records(self.groups.get(group, {}))
        return (record.pod for record in records if record.node_name)

    def pending(self) -> Iterator[Pod]:
        """Yield the pods without a node that are not being deleted, in the order in which they came."""
        for record in tuple(self.records.values()):
            if record.pending:
                yield record.pod

    def with_most_terms(self) -> Pod | None:
        """Return a placed pod whose terms about other pods are the longest text; None when none has any."""
        most = max(tuple(self.affinities.values()), key=lambda pods: len(pods.key[1]), default=None)
        rows = () if most is None else tuple(most.counts)
        having = (record for row in rows for record in self.records_on(row))
        return next((record.pod for record in having if most and record.kind.affinity_key == most.key), None)

    def _records(self, uids: Iterable[str]) -> Iterator[PodRecord]:
        for uid in tuple(uids):
            record = self.records.get(uid)
            if record is not None:
                yield record
