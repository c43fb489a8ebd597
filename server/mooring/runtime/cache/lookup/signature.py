"""The signature of a pod: pods with the same one get the same answers. See KEP-5598."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from mooring.framework import Part, Plugin, Pod
from mooring.framework.cacheable import Aspect, Dependencies, as_cacheable, dependencies_of
from mooring.framework.errors import MooringError
from mooring.framework.named_node import named_node
from mooring.framework.objects import Object
from mooring.framework.pod_aspects import (
    amounts,
    may_have_claims,
    without_amounts,
    without_claims,
    without_group,
)
from mooring.framework.selected_labels import selected_labels
from mooring.runtime.cache.lookup.doorkeeper import DoorkeeperCache
from mooring.runtime.cycle.plugin_calls import plugin_failure
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profile_split import ClaimSplit, may_read_resources_alone, narrowed
from mooring.runtime.profiles.tracebacks import TRACEBACKS
from mooring.runtime.tuning import DEFAULT_TUNING

_encode = msgspec.msgpack.Encoder().encode

_POINT = "Sign"
"""The name under which a failing declaration is reported."""

_Halves = tuple[Profile, Profile, tuple[Profile, Profile] | None]
"""The parts of a profile that belong to a signature."""


class Signature(msgspec.Struct, frozen=True):
    """The facts about a pod on which the answers of a profile's plugins depend.

    Attributes:
        whole: Equal for pods that all plugins give the same answers,
        static: and for those that the plugins of ``others`` do,
        below: and for those of them that read no labels.
        resources: The profile with its plugins that read resources alone.
        others: The profile with the other ones.
        layers: ``others`` apart: those that read no labels, and those that do; None if that is of no use.
        kinds_read: The kinds of objects that ``resources`` read as well, which say the same of all nodes.
    """

    whole: Hashable
    static: Hashable
    below: Hashable
    resources: Profile
    others: Profile
    layers: tuple[Profile, Profile] | None
    kinds_read: frozenset[type[Object]]


class _Signers(msgspec.Struct, frozen=True):
    """Plugins by the aspects of a pod that they read. The shape of a pod is the pod without amounts.

    Attributes:
        by_shape: Plugins that are called once for all pods of one shape, whatever their labels.
        by_labels: Plugins that are called once for all pods of one shape with the same labels.
        by_pod: Plugins that are called for each pod.
    """

    by_shape: tuple[Plugin[Any], ...]
    by_labels: tuple[Plugin[Any], ...]
    by_pod: tuple[Plugin[Any], ...]

    @classmethod
    def of(cls, plugins: Iterable[Plugin[Any]], *, claims: bool) -> _Signers:
        """Return ``plugins`` for pods that may have ``claims``, or have none."""
        by_shape, by_labels, by_pod = list[Plugin[Any]](), list[Plugin[Any]](), list[Plugin[Any]]()
        for plugin in plugins:
            aspects = as_cacheable(plugin).aspects
            if aspects == Aspect.ALL or (claims and Aspect.CLAIMS in aspects):
                by_pod.append(plugin)
            elif _reads_labels(plugin):
                by_labels.append(plugin)
            else:
                by_shape.append(plugin)
        return cls(tuple(by_shape), tuple(by_labels), tuple(by_pod))


class _Plugins(msgspec.Struct, frozen=True):
    """The plugins of a profile that evaluate pods, each once.

    Attributes:
        read_groups: Whether any of them reads the group of a pod,
        read_all_labels: and whether any reads labels that no selector names.
        labels: Labels that plugins read which no selector may name.
        reading_claims: The plugins that read claims.
        reading_node_name: The plugins that read which node a pod names, and whether each is enabled both at
            PreFilter and at Filter.
        signers: All plugins, for pods that may have claims.
        without_claims: All plugins, for pods that have none.
        by_resources: The plugins that may read resources alone.
    """

    read_groups: bool
    read_all_labels: bool
    labels: frozenset[str]
    reading_claims: tuple[Plugin[Any], ...]
    reading_node_name: tuple[tuple[Plugin[Any], bool], ...]
    signers: _Signers
    without_claims: _Signers
    by_resources: frozenset[Plugin[Any]]

    @classmethod
    def of(cls, profile: Profile) -> _Plugins:
        """Return the plugins of ``profile``."""
        plugins, aspects, labels = profile.evaluating, Aspect.NONE, frozenset[str]()
        for plugin in plugins:
            aspects |= as_cacheable(plugin).aspects
            labels |= as_cacheable(plugin).labels
        early, filtering = ({each.plugin for each in at} for at in (profile.pre_filter, profile.filter))
        return cls(
            read_groups=Aspect.GROUP in aspects,
            read_all_labels=Aspect.OTHER_LABELS in aspects,
            labels=labels,
            reading_claims=_reading(plugins, Aspect.CLAIMS),
            reading_node_name=tuple(
                (plugin, plugin in early and plugin in filtering)
                for plugin in _reading(plugins, Aspect.NODE_NAME)
            ),
            signers=_Signers.of(plugins, claims=True),
            without_claims=_Signers.of(plugins, claims=False),
            by_resources=frozenset(filter(may_read_resources_alone, plugins)),
        )


class _Signed(msgspec.Struct, frozen=True, cache_hash=True):
    """Signatures of some plugins, which are hashed once."""

    signatures: tuple[Hashable, ...]


class _Parts(msgspec.Struct, frozen=True):
    """The signatures of some plugins.

    Attributes:
        whole: All of them.
        static: The same without those of ``by_resources``,
        below: and of these, those of the plugins that read no labels.
        by_resources: The plugins that read resources alone.
        kinds_read: The kinds of objects that these read as well, which say the same of all nodes.
    """

    whole: _Signed
    static: _Signed
    below: _Signed
    by_resources: frozenset[Plugin[Any]]
    kinds_read: frozenset[type[Object]]


_NO_PARTS = _Parts(_Signed(()), _Signed(()), _Signed(()), frozenset(), frozenset())


class _Shape(msgspec.Struct):
    """The signatures of pods of one shape.

    Attributes:
        parts: The signatures of the plugins by shape; None when one says that answers can't be cached.
        nbytes: The bytes of the encoded pod.
        used: When it was used last, as its cache counts.
    """

    parts: _Parts | None
    nbytes: int
    used: int = 0


class Signer:
    """Computes the signatures of pods. Safe from any thread: two that compute one at once get the same.

    Args:
        shape_bytes: The budget of shapes, counted by the bytes of the pods that they were found for.
    """

    def __init__(self, shape_bytes: int = DEFAULT_TUNING.template_bytes) -> None:
        self._plugins: dict[str, _Plugins] = {}
        self._shapes: DoorkeeperCache[_Shape] = DoorkeeperCache(shape_bytes)
        self._without_labels: DoorkeeperCache[_Shape] = DoorkeeperCache(shape_bytes)
        self._splits: dict[tuple[str, frozenset[str]], ClaimSplit] = {}
        self._halves: dict[tuple[str, frozenset[Plugin[Any]]], _Halves] = {}

    def sign(self, pod: Pod, profile: Profile, *, claims: bool = True) -> Signature | None:
        """Return the signature of ``pod``, which has no name; None when answers about it can't be cached.

        Without ``claims`` it is known that the pod can't have any. None if a plugin declares so, or an
        extender is interested in the pod: its answers can't be foreseen. Raises PluginFailureError if a
        plugin raised, or its signature can't be hashed.
        """
        if profile.extenders_for(pod):
            return None
        plugins = self._of(profile)
        signers = plugins.signers if claims else plugins.without_claims
        shape = self._shape(pod, profile, signers, plugins.by_resources)
        if shape is None:
            return None
        own = _parts(pod, signers.by_pod, plugins.by_resources) if signers.by_pod else _NO_PARTS
        if own is None:
            return None
        by_resources = shape.by_resources | own.by_resources if own.by_resources else shape.by_resources
        key = profile.cache_key
        halves = self._halves.get((key, by_resources))
        if halves is None:
            halves = self._halves[key, by_resources] = _halves(profile, by_resources)
        whole = profile.cache_key, shape.whole, own.whole, _encode(amounts(pod))
        static, below = (
            (profile.cache_key, shape.static, own.static),
            (profile.cache_key, shape.below, own.static),
        )
        return Signature(whole, static, below, *halves, shape.kinds_read | own.kinds_read)

    def read_labels(self, pod: Pod, profile: Profile, keys: frozenset[str]) -> Mapping[str, str]:
        """Return those of the pod's labels that its signature may depend on.

        ``keys`` are those that selectors of the cluster name.
        """
        plugins = self._of(profile)
        if plugins.read_all_labels:
            return pod.metadata.labels
        return selected_labels(pod, keys | plugins.labels if plugins.labels else keys)

    def split_by_claims(self, pod: Pod, profile: Profile) -> ClaimSplit | None:
        """Return the profile in parts if some plugins read the claims of ``pod``; None if none does. Raises
        PluginFailureError if a plugin raised, or its signature can't be hashed.
        """
        if not may_have_claims(pod):
            return None
        bare = without_claims(pod)
        plugins = self._of(profile).reading_claims
        readers = frozenset([plugin.name for plugin in plugins if not _answers_alike(plugin, pod, bare)])
        if not readers:
            return None
        split = self._splits.get((profile.cache_key, readers))
        if split is None:
            split = self._splits[profile.cache_key, readers] = ClaimSplit.of(profile, readers)
        return split

    def leaves_named_node(self, pod: Pod, bare: Pod, profile: Profile) -> bool:
        """Return whether plugins answer about the node that ``pod`` names as about ``bare``, without a name.

        One of them has to reject all other nodes. Raises PluginFailureError if a plugin raised.
        """
        name, left_alone = named_node(pod), False
        for plugin, everywhere in self._of(profile).reading_node_name:
            declared = _declared(plugin, pod)
            if everywhere and declared.only_node == name:
                left_alone = True
            elif declared.rejects and not _answers_alike(plugin, pod, bare):
                return False
        return left_alone

    def without_group(self, pod: Pod, profile: Profile) -> Pod:
        """Return ``pod`` as if it were in no group, if no plugin reads that."""
        return pod if self._of(profile).read_groups else without_group(pod)

    def _of(self, profile: Profile) -> _Plugins:
        plugins = self._plugins.get(profile.cache_key)
        if plugins is None:
            plugins = self._plugins[profile.cache_key] = _Plugins.of(profile)
        return plugins

    def _shape(
        self, pod: Pod, profile: Profile, signers: _Signers, by_resources: frozenset[Plugin[Any]]
    ) -> _Parts | None:
        """None when a plugin that goes by the shape says that nothing can be cached."""
        shaped = without_amounts(pod)
        key = profile.cache_key, _encode(shaped)
        shape = self._shapes.get(key)
        if shape is None:
            below = self._shape_below(shaped, profile, signers, by_resources)
            parts = None if below is None else _parts(shaped, signers.by_labels, by_resources, below)
            shape = _Shape(parts, len(key[1]))
            self._shapes.put(key, shape)
        return shape.parts

    def _shape_below(
        self, shaped: Pod, profile: Profile, signers: _Signers, by_resources: frozenset[Plugin[Any]]
    ) -> _Parts | None:
        """As ``_shape``, for the plugins that read no labels."""
        bare = structs.replace(shaped, metadata=structs.replace(shaped.metadata, labels={}))
        key = profile.cache_key, _encode(bare)
        shape = self._without_labels.get(key)
        if shape is None:
            shape = _Shape(_parts(bare, signers.by_shape, by_resources), len(key[1]))
            self._without_labels.put(key, shape)
        return shape.parts


def _halves(profile: Profile, by_resources: frozenset[Plugin[Any]]) -> _Halves:
    others = narrowed(profile, lambda plugin: plugin not in by_resources)
    above = narrowed(others, _reads_labels)
    # If a search ends early, its order is that of all plugins together.
    apart = bool(above.evaluating) and not profile.samples
    below = narrowed(others, lambda plugin: not _reads_labels(plugin))
    resources = narrowed(profile, by_resources.__contains__)
    return resources, others, (below, above) if apart else None


def _reading(plugins: Iterable[Plugin[Any]], aspect: Aspect) -> tuple[Plugin[Any], ...]:
    return tuple([plugin for plugin in plugins if aspect in as_cacheable(plugin).aspects])


def _reads_labels(plugin: Plugin[Any]) -> bool:
    """Return whether ``plugin`` reads labels, but not all aspects of a pod."""
    aspects = as_cacheable(plugin).aspects
    return aspects != Aspect.ALL and bool(aspects & Aspect.LABELS)


def _answers_alike(plugin: Plugin[Any], pod: Pod, other: Pod) -> bool:
    """Return whether ``plugin`` declares that it gives the same answers about both pods."""
    declared = _declared(plugin, pod)
    return declared.signature is not None and declared == _declared(plugin, other)


def _parts(
    pod: Pod, plugins: Iterable[Plugin[Any]], candidates: frozenset[Plugin[Any]], below: _Parts = _NO_PARTS
) -> _Parts | None:
    """Return the signatures of ``pod`` and those ``below``; None when a plugin says that nothing can be
    cached.

    Only ``candidates`` may read resources alone.
    """
    whole, static = [*below.whole.signatures], [*below.static.signatures]
    by_resources, kinds_read = set(below.by_resources), set(below.kinds_read)
    for plugin in plugins:
        declared = _declared(plugin, pod)
        if declared.signature is None:
            return None
        whole.append(declared.signature)
        kinds = _kinds_beside_resources(declared) if plugin in candidates else None
        if kinds is None:
            static.append(declared.signature)
        else:
            by_resources.add(plugin)
            kinds_read.update(kinds)
    signed = _Signed(tuple(whole)), _Signed(tuple(static)), below.static
    return _Parts(*signed, frozenset(by_resources), frozenset(kinds_read))


def _kinds_beside_resources(declared: Dependencies) -> Collection[type[Object]] | None:
    """Return the kinds of objects that are read besides resources; None if anything else is read.

    Nothing else tells nodes apart then, so these objects give the same answer for nodes of equal resources.
    """
    if declared.parts == Part.RESOURCES:
        return ()
    return declared.kinds if declared.parts == Part.RESOURCES | Part.OBJECTS else None


def _declared(plugin: Plugin[Any], pod: Pod) -> Dependencies:
    """Return what the answers of ``plugin`` about ``pod`` depend on, checked."""
    try:
        declared = dependencies_of(plugin, pod)
        if isinstance(declared, Dependencies):
            hash(declared.signature)
    except MooringError:
        raise
    except Exception as error:
        TRACEBACKS.tell(plugin.name, _POINT, error)
        raise plugin_failure(plugin.name, _POINT, f"{type(error).__name__}: {error}") from error
    if not isinstance(declared, Dependencies):
        raise plugin_failure(plugin.name, _POINT, f"returned {type(declared).__name__}, not Dependencies")
    if not isinstance(declared.parts, Part):
        raise plugin_failure(plugin.name, _POINT, f"declared parts {declared.parts}, which is not a Part")
    return declared
