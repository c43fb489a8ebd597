"""Finds the kept evaluation for a pod, and makes it when there is none."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from mooring.framework import ClusterState, Pod
from mooring.framework.pod_table import PodKind
from mooring.runtime.kept.amounts import AmountValues
from mooring.runtime.kept.kept import Calls, Kept
from mooring.runtime.kept.movements import Movements
from mooring.runtime.kept.second_use import SecondUseCache
from mooring.runtime.kept.signing import Signature, Signer
from mooring.runtime.kept.standing import Standing, stand
from mooring.runtime.profile import Profile

_MOST_TEMPLATE_BYTES = 64 << 20
"""At this many bytes of encoded pods all templates are forgotten."""

_MOST_KEPT_BYTES = 512 << 20
_MOST_STANDING_BYTES = 256 << 20
"""The budgets of kept evaluations, and of the standing halves that several of them share."""

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

    An evaluation is kept from the second time on that it is asked for, within a budget of bytes; what is
    asked for once leaves nothing behind but a hash.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.movements = Movements(cluster)
        self._templates: dict[tuple[str, bytes], Template] = {}
        self._template_bytes = 0
        self._kept: SecondUseCache[Kept] = SecondUseCache(_MOST_KEPT_BYTES, self._forget_templates)
        self._standing: SecondUseCache[Standing] = SecondUseCache(_MOST_STANDING_BYTES)
        self._signer = Signer()

    def drop(self) -> None:
        """Forget every evaluation, as if nothing had been asked yet."""
        self.movements.forget()
        self._standing.clear()
        self._kept.clear()

    def _forget_templates(self) -> None:
        self._templates.clear()
        self._template_bytes = 0

    def find(self, pod: Pod, profile: Profile) -> Template | None:
        """What pods like ``pod`` have in common; None when a plugin says that nothing can be used again.

        Raises:
            PluginFailureError: A plugin failed to sign the pod.
        """
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
        template = self._templates.get(key)
        if template is None:
            template, again = self._made(pod, profile)
            if template is not None and again:
                self._remember(key, template)
        if template is not None:
            self._kept.use(template.kept)
        return template

    def _remember(self, key: tuple[str, bytes], template: Template) -> None:
        self._template_bytes += len(key[1])
        if self._template_bytes > _MOST_TEMPLATE_BYTES:
            self._forget_templates()
        self._templates[key] = template

    def _made(self, pod: Pod, profile: Profile) -> tuple[Template | None, bool]:
        """What ``find`` returns, and whether to remember it."""
        bare = replace(
            pod,
            metadata=replace(pod.metadata, name="", uid="", resource_version="", creation_timestamp=None),
        )
        signature = self._signer.sign(bare, profile)
        if signature is None:
            return None, False
        kept = self._kept.get(signature.whole) or self._new(bare, signature)
        again = self._kept.put(signature.whole, kept)
        return Template(self._cluster.kind_of(pod, remember=again), kept), again

    def _new(self, pod: Pod, signature: Signature) -> Kept:
        cluster, movements, key = self._cluster, self.movements, signature.standing

        def standing(calls: Calls, version: int) -> Standing:
            known = self._standing.get(key)
            if known is None or movements.moved_since(known.version, known.parts):
                known = stand(signature.others, cluster, pod, version, calls())
            self._standing.put(key, known)
            return known

        amounts = AmountValues(signature.amounts, cluster, pod, movements)
        return Kept(cluster, movements, pod, standing, amounts)
