"""Finds the kept evaluation for a pod, and makes it when there is none."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
from msgspec.structs import replace

from mooring.framework import ClusterState, Pod
from mooring.framework.pod_table import PodKind
from mooring.runtime.kept.amounts import AmountValues
from mooring.runtime.kept.kept import Calls, Kept
from mooring.runtime.kept.movements import Movements
from mooring.runtime.kept.signing import Signature, Signer
from mooring.runtime.kept.standing import Standing, stand
from mooring.runtime.profile import Profile

_MOST_TEMPLATES = 1 << 12
_MOST_KEPT = 512
_MOST_TOTALS = 1 << 25
"""At this many totals (4 bytes each) over all kept evaluations those used least are dropped."""

_encode = msgspec.msgpack.Encoder().encode


class Template(msgspec.Struct, frozen=True):
    """What all pods like one have in common.

    Attributes:
        kind: What they count as.
        kept: Their evaluation.
    """

    kind: PodKind
    kept: Kept


class Keeper:
    """The kept evaluations over one state. Safe from any thread.

    What is asked for once is dropped when something else is; it is kept when it is asked for again. Two
    threads that look for the same evaluation at the same time may both make it; one is dropped.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.movements = Movements(cluster)
        self._templates: dict[tuple[str, bytes], Template | None] = {}
        self._kept: dict[Hashable, Kept] = {}
        self._standing: dict[Hashable, Standing] = {}
        self._newest: tuple[Hashable, Kept] | None = None
        # By hash: that two have the same one keeps an evaluation too many, and does no harm.
        self._asked_once: set[int] = set()
        self._signer = Signer()
        self._uses = 0

    def find(self, pod: Pod, profile: Profile) -> Template | None:
        """What pods like ``pod`` have in common; None when a plugin says that nothing can be used again."""
        meta = pod.metadata
        key = (
            profile.name,
            _encode(
                (
                    meta.namespace,
                    meta.labels,
                    meta.annotations,
                    meta.owner_references,
                    meta.deletion_timestamp,
                    pod.spec,
                    pod.status,
                )
            ),
        )
        try:
            template = self._templates[key]
        except KeyError:
            template, again = self._made(pod, profile)
            if again:
                if len(self._templates) >= _MOST_TEMPLATES:
                    self._templates.clear()
                self._templates[key] = template
        if template is not None:
            self._uses += 1
            template.kept.used = self._uses
        return template

    def _made(self, pod: Pod, profile: Profile) -> tuple[Template | None, bool]:
        """What ``find`` returns, and whether to remember it."""
        bare = replace(
            pod,
            metadata=replace(pod.metadata, name="", uid="", resource_version="", creation_timestamp=None),
        )
        signature = self._signer.sign(bare, profile)
        if signature is None:
            return None, True
        kept, again = self._kept.get(signature.whole), True
        if kept is None:
            kept, again = self._asked_again(bare, signature)
        return Template(self._cluster.kind_of(pod), kept), again

    def _asked_again(self, pod: Pod, signature: Signature) -> tuple[Kept, bool]:
        """A kept evaluation that is new, or was until now; and whether it is kept from now on."""
        key, newest = signature.whole, self._newest
        kept = newest[1] if newest and newest[0] == key else self._new(pod, signature)
        again = hash(key) in self._asked_once
        if again:
            self._make_room()
            self._kept[key] = kept
            self._newest = None
        else:
            if len(self._asked_once) >= _MOST_TEMPLATES:
                self._asked_once.clear()
            self._asked_once.add(hash(key))
            self._newest = key, kept
        return kept, again

    def _new(self, pod: Pod, signature: Signature) -> Kept:
        cluster, movements, key = self._cluster, self.movements, signature.standing

        def standing(calls: Calls, version: int) -> Standing:
            known = self._standing.get(key)
            if known is None or movements.moved_since(known.version, known.parts):
                if len(self._standing) >= _MOST_KEPT:
                    self._standing.clear()
                known = stand(signature.others, cluster, pod, version, calls())
                self._standing[key] = known
            return known

        amounts = AmountValues(signature.amounts, cluster, pod, movements)
        return Kept(cluster, movements, pod, standing, amounts)

    def _make_room(self) -> None:
        """Drop the half that was used least recently when there are too many."""
        most = min(_MOST_KEPT, max(_MOST_TOTALS // max(self._cluster.snapshot.nodes.capacity, 1), 4))
        if len(self._kept) < most:
            return
        newest = sorted(self._kept.items(), key=lambda item: item[1].used)[most // 2 :]
        self._kept = dict(newest)
        self._templates.clear()
