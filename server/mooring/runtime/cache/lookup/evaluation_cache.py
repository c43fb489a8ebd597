"""Finds the cached evaluation for a pod, and makes it when there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.framework import MAX_NODE_SCORE, Int32s, Pod
from mooring.framework.named_node import named_node, without_named_node
from mooring.framework.objects import DeviceClass
from mooring.framework.pod_aspects import may_have_claims, without_claims
from mooring.framework.pod_table import bare_template_of, kind_like
from mooring.framework.remembering import ByIdentity
from mooring.framework.state import ClusterState
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation, Template
from mooring.runtime.cache.layers.resource_scores import ResourcePlugins, ResourceScores
from mooring.runtime.cache.layers.static_scores import StaticScores, find_static_above, find_static_scores
from mooring.runtime.cache.lookup.doorkeeper import DoorkeeperCache
from mooring.runtime.cache.lookup.signature import Signature, Signer
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profile_split import ProfileSplit
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning

_MAX_POD_BYTES = 128 << 10
"""A larger pod is evaluated in full: plugins check the deadline then, but not while they sign pods."""

_MAX_PROFILES = 1 << 6
"""Profiles whose plugins that read resources are remembered."""

_MAX_TOTAL = 2**31 - 1
"""A larger total doesn't fit into an evaluation's columns."""

_OBJECT_BYTES = 16
"""The bytes of objects for each byte of an encoded pod: the pod, signatures and notes."""

_encode = msgspec.msgpack.Encoder().encode


_Asked = tuple[tuple[str, bytes], Mapping[str, str], frozenset[str]]
"""The key of a pod's template, the labels that plugins read, and the keys that selectors name."""


class EvaluationCache:
    """The cached evaluations over one state. Safe from any thread.

    An evaluation is cached from its second use on, within a budget of bytes; a single use leaves
    nothing behind but a hash. Keys begin with the profile's and its configuration's: after a change of the
    configuration nothing that was evaluated under another one is found.

    Attributes:
        counts: Hits, misses and bypasses.
    """

    def __init__(self, cluster: ClusterState, tuning: CacheTuning = DEFAULT_TUNING) -> None:
        self.cluster = cluster
        self.tuning = tuning
        self.tracker = ChangeTracker(cluster, tuning)
        self._templates: dict[tuple[str, bytes], Template] = {}
        self._template_bytes = 0
        self._evaluations: DoorkeeperCache[CachedEvaluation] = DoorkeeperCache(
            tuning.evaluation_bytes, self._forget_templates
        )
        self._static: DoorkeeperCache[StaticScores] = DoorkeeperCache(tuning.static_bytes)
        self._bases: WeakValueDictionary[int, Int32s] = WeakValueDictionary()
        self._signer = Signer(tuning.template_bytes)
        self._halves = ProfileSplit()
        self._resource_plugins = ByIdentity(ResourcePlugins.of, most=_MAX_PROFILES)
        self.counts = CacheCounts()

    def drop(self) -> None:
        """Drop every evaluation (a flush)."""
        self.tracker.forget()
        self._static.clear()
        self._evaluations.clear()

    def _forget_templates(self) -> None:
        self._templates.clear()
        self._template_bytes = 0

    def find_decision(self, pod: Pod, profile: Profile) -> Template:
        """As ``find``, for a decision: pods that differ in named node or claims share an evaluation."""
        asked = self._asked(pod, profile)
        template = self._known(pod, asked)
        if template is not None and template.plain:
            return template
        classes = self.cluster.snapshot.objects.version(DeviceClass)
        if template is not None and template.unclaimed == classes:
            return template
        plain = _is_plain(pod)
        like = None if plain or profile.samples else self._like(pod, profile)
        if like is None and template is not None:
            like = self._templates[asked[0]] = replace(template, unclaimed=classes)
        return like or self._made(pod, profile, asked, plain=plain)

    def find_member(self, pod: Pod, profile: Profile) -> Template:
        """As ``find``, for a pod of a group: pods that differ in their groups alone share an evaluation."""
        return self.find(self._signer.without_group(pod, profile), profile)

    def find(self, pod: Pod, profile: Profile) -> Template:
        """Return the template of ``pod``, with its signature. Raises NotCachedError if the pod is large, or
        no answer about it can be used again, and PluginFailureError if a plugin failed to sign the pod.
        """
        asked = self._asked(pod, profile)
        return self._known(pod, asked) or self._made(pod, profile, asked, plain=_is_plain(pod))

    def _like(self, pod: Pod, profile: Profile) -> Template | None:
        """Return a template with the evaluation of pods without its claims, or its node; None = it can't."""
        split = self._signer.split_by_claims(pod, profile)
        if split is not None:
            bare = without_claims(pod)
            like = self.find(bare, split.others)
            kind = like.kind if bare is pod else kind_like(pod, like.kind)
            return Template(kind, like.labels, like.cached, like.selected_keys, split=split)
        node = named_node(pod)
        free = self._without_node(pod, profile) if node else None
        if free is None:
            return None
        template = replace(free.kind.base.template, spec=bare_template_of(pod).spec)
        kind = self.cluster.kind_like(template, free.kind)
        return Template(kind, free.labels, free.cached, free.selected_keys, node=node)

    def _without_node(self, pod: Pod, profile: Profile) -> Template | None:
        """Return the template of ``pod`` as if it named no node; None = its answers are other ones."""
        bare = without_named_node(pod)
        asked = self._asked(bare, profile)
        free = self._known(bare, asked) or self._made(bare, profile, asked, plain=_is_plain(bare))
        if free.named is None:
            free = replace(free, named=self._signer.leaves_named_node(pod, bare, profile))
            if asked[0] in self._templates:
                self._templates[asked[0]] = free
        return free if free.named else None

    def _asked(self, pod: Pod, profile: Profile) -> _Asked:
        meta, keys = pod.metadata, self.cluster.snapshot.pods.selected_keys
        labels = meta.labels and self._signer.read_labels(pod, profile, keys)
        owners, deleted = meta.owner_references, meta.deletion_timestamp
        read = meta.namespace, labels, meta.annotations, owners, deleted, pod.spec, pod.status
        return (profile.cache_key, _encode(read)), labels, keys

    def _known(self, pod: Pod, asked: _Asked) -> Template | None:
        key, _, keys = asked
        template = self._templates.get(key)
        if template is None:
            return None
        labels = pod.metadata.labels
        if template.selected_keys is not keys or template.labels != labels:
            kind = self.cluster.kind_labelled(template.kind, labels)
            template = replace(template, kind=kind, labels=labels, selected_keys=keys)
            self._templates[key] = template
        self._evaluations.use(template.cached)
        return template

    def _made(self, pod: Pod, profile: Profile, asked: _Asked, *, plain: bool) -> Template:
        """Return what ``find`` returns of a pod that is not known, and remember it from its second use on."""
        key, labels, keys = asked
        if len(key[1]) > _MAX_POD_BYTES:
            raise NotCachedError(Bypass.LARGE_POD)
        if profile.weight_sum * MAX_NODE_SCORE > _MAX_TOTAL:
            raise NotCachedError(Bypass.LARGE_WEIGHTS)
        meta = replace(
            pod.metadata, name="", uid="", labels=labels, resource_version="", creation_timestamp=None
        )
        bare = replace(pod, metadata=meta)
        reads = profile.reads
        signature = self._signer.sign(bare, profile, claims=not plain)
        if signature is None:
            raise NotCachedError(Bypass.EXTENDER if profile.extenders_for(pod) else Bypass.UNSIGNED)
        cached = self._evaluations.get(signature.whole)
        again = cached is not None
        if cached is None:
            cached = self._new(bare, signature, _OBJECT_BYTES * len(key[1]), lambda: profile.reads != reads)
            again = self._evaluations.put(signature.whole, cached)
        kind = self.cluster.kind_of(pod, remember=again)
        template = Template(kind, pod.metadata.labels, cached, keys, plain)
        if again:
            self._remember(key, template)
        return template

    def _remember(self, key: tuple[str, bytes], template: Template) -> None:
        self._template_bytes += len(key[1])
        if self._template_bytes > self.tuning.template_bytes:
            self._forget_templates()
        self._templates[key] = template

    def _new(
        self, pod: Pod, signature: Signature, pod_bytes: int, reads_more: Callable[[], bool]
    ) -> CachedEvaluation:
        cluster, tracker, key = self.cluster, self.tracker, signature.static

        def static(calls: PluginCalls, version: int) -> StaticScores:
            known = self._static.get(key)
            if known is None or not known.is_true(tracker, version):
                calls.require_plugins()
                known = self._found_static(pod, signature, version, calls)
                known.pod_bytes = pod_bytes
                known.base = self._shared(known.base)
                self._static.put(key, known)
            return known

        plugins = self._resource_plugins(signature.resources)
        resources = ResourceScores(plugins, cluster, pod, tracker, signature.kinds_read)
        return CachedEvaluation(cluster, tracker, pod, static, resources, pod_bytes, self.tuning, reads_more)

    def _found_static(self, pod: Pod, signature: Signature, version: int, calls: PluginCalls) -> StaticScores:
        """Return the static scores; plugins that read no labels answer once for all labels."""
        cluster, halves = self.cluster, self._halves
        if signature.layers is not None:
            profile, above = signature.layers
            below = self._static.get(signature.below)
            if below is None or not below.is_true(self.tracker, version):
                below = find_static_scores(profile, cluster, pod, version, calls, halves)
                below.base = self._shared(below.base)
                self._static.put(signature.below, below)
            if len(below.open):
                return find_static_above(below, signature.others, above, cluster, pod, version, calls, halves)
        return find_static_scores(signature.others, cluster, pod, version, calls, halves)

    def _shared(self, base: Int32s) -> Int32s:
        """Return the column that others have, if theirs is equal: of most pods nodes say the same."""
        shared = self._bases.setdefault(hash(base.tobytes()), base)
        return shared if np.array_equal(shared, base) else base


def _is_plain(pod: Pod) -> bool:
    """Return what ``Template.plain`` says."""
    return not (may_have_claims(pod) or named_node(pod))
