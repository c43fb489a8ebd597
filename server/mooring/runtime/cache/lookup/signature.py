"""The signature of a pod: pods with the same one get the same answers. See KEP-5598."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from mooring.framework import CacheablePlugin, Part, Plugin, Pod
from mooring.framework.errors import MooringError
from mooring.framework.internal import (
    ClaimReader,
    NamedNodeFilter,
    ObjectReader,
    SignedByLabels,
    SignedByRequests,
    SignedBySelectors,
    SignedByShape,
    asked_by,
    may_have_claims,
    shape_of,
    without_group,
)
from mooring.framework.named_node import named_node
from mooring.framework.objects import Object
from mooring.framework.selected_labels import selected_labels
from mooring.runtime.cache.lookup.doorkeeper import DoorkeeperCache
from mooring.runtime.cycle.plugin_calls import plugin_failure
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profile_split import ClaimSplit, may_read_resources_alone, narrowed
from mooring.runtime.profiles.tracebacks import TRACEBACKS
from mooring.runtime.tuning import DEFAULT_TUNING

_encode = msgspec.msgpack.Encoder().encode

_Halves = tuple[Profile, Profile, tuple[Profile, Profile] | None]
"""What a signature has of the profile."""


class Signature(msgspec.Struct, frozen=True):
    """What the answers of a profile's plugins for a pod depend on.

    Attributes:
        whole: Equal for pods that all plugins give the same answers,
        static: and for those that the plugins of ``others`` do,
        below: and for those that its plugins do that look at no labels.
        resources: The profile with its plugins that read resources alone.
        others: The profile with the other ones.
        layers: These apart: those that look at no labels, and those that do; None when that is of no use.
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
    """Plugins by what they sign.

    Attributes:
        by_shape: Those for whose signature the shape and the requests stand, and that give none to any pod,
        by_labels: but for those for which the shape without labels doesn't.
        by_pod: The other ones.
    """

    by_shape: tuple[Plugin[Any], ...]
    by_labels: tuple[Plugin[Any], ...]
    by_pod: tuple[Plugin[Any], ...]

    @classmethod
    def of(cls, plugins: Iterable[Plugin[Any]], *, claims: bool) -> _Signers:
        """Return ``plugins`` for pods that may have ``claims``, or have none."""
        by_shape, by_labels, by_pod = list[Plugin[Any]](), list[Plugin[Any]](), list[Plugin[Any]]()
        for plugin in plugins:
            if isinstance(plugin, SignedByLabels):
                by_labels.append(plugin)
            elif _signs_shapes(plugin) or (isinstance(plugin, ClaimReader) and not claims):
                by_shape.append(plugin)
            else:
                by_pod.append(plugin)
        return cls(tuple(by_shape), tuple(by_labels), tuple(by_pod))


class _Plugins(msgspec.Struct, frozen=True):
    """The plugins of a profile that evaluate pods, each once.

    Attributes:
        by_selectors: Whether none of them looks at a label that no selector names.
        claim_readers: Those that may read claims, by name; none when others may, too.
        naming: Those to which it may matter that a pod names a node; None when it may to any, or none sees
            to it.
        signers: All of them, for pods that may have claims,
        without_claims: and for pods without, to all of which those that read claims say the same.
        by_resources: Those that may read resources alone.
    """

    by_selectors: bool
    claim_readers: tuple[tuple[str, ClaimReader], ...]
    naming: tuple[SignedBySelectors, ...] | None
    signers: _Signers
    without_claims: _Signers
    by_resources: frozenset[Plugin[Any]]


class _Signed(msgspec.Struct, frozen=True, cache_hash=True):
    """Signatures of some plugins, which are hashed once."""

    signatures: tuple[Hashable, ...]


class _Parts(msgspec.Struct, frozen=True):
    """The signatures of some plugins.

    Attributes:
        whole: All of them.
        static: The same without those of ``by_resources``,
        below: and of these, those of the plugins that look at no labels.
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
    """What is known of pods of one shape.

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
        self._apart: dict[tuple[str, frozenset[str]], ClaimSplit] = {}
        self._halves: dict[tuple[str, frozenset[Plugin[Any]]], _Halves] = {}

    def sign(self, pod: Pod, profile: Profile, *, claims: bool = True) -> Signature | None:
        """Return the signature of ``pod``, which has no name; None when answers about it can't be cached.

        Without ``claims`` it is known that the pod can't have any.
        A plugin says so, or an extender is interested in the pod: what that answers, mooring can't foresee.

        Raises:
            PluginFailureError: A plugin raised, or signed with what can't be hashed.
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
        halves = self._halves.get((profile.key, by_resources))
        if halves is None:
            halves = self._halves[profile.key, by_resources] = _halves(profile, by_resources)
        whole = profile.key, shape.whole, own.whole, _encode(asked_by(pod))
        static, below = (profile.key, shape.static, own.static), (profile.key, shape.below, own.static)
        return Signature(whole, static, below, *halves, shape.kinds_read | own.kinds_read)

    def read_labels(self, pod: Pod, profile: Profile, keys: frozenset[str]) -> Mapping[str, str]:
        """Return those of the pod's labels that its signature may depend on.

        ``keys`` are those that selectors of the cluster name.
        """
        return selected_labels(pod, keys) if self._of(profile).by_selectors else pod.metadata.labels

    def apart(self, pod: Pod, profile: Profile) -> ClaimSplit | None:
        """Return the profile in two, if ``pod`` has claims that some of its plugins read, and no others."""
        if not may_have_claims(pod):
            return None
        reading = [name for name, reader in self._of(profile).claim_readers if reader.reads_claims_of(pod)]
        if not reading:
            return None
        readers = frozenset(reading)
        apart = self._apart.get((profile.key, readers))
        if apart is None:
            apart = self._apart[profile.key, readers] = ClaimSplit.of(profile, readers)
        return apart

    def named_node(self, pod: Pod, profile: Profile) -> str:
        """Return the only node that ``pod`` can go to, if it is like others but for that; "" otherwise."""
        name, naming = named_node(pod), self._of(profile).naming
        if not name or naming is None or not all(plugin.leaves_named_node(pod) for plugin in naming):
            return ""
        return name

    def without_group(self, pod: Pod, profile: Profile) -> Pod:
        """Return ``pod`` as if it were in no group, if that is all one to the plugins."""
        return without_group(pod) if self._of(profile).by_selectors else pod

    def _of(self, profile: Profile) -> _Plugins:
        plugins = self._plugins.get(profile.key)
        if plugins is None:
            plugins = self._plugins[profile.key] = _plugins(profile)
        return plugins

    def _shape(
        self, pod: Pod, profile: Profile, signers: _Signers, by_resources: frozenset[Plugin[Any]]
    ) -> _Parts | None:
        """None when a plugin that goes by the shape says that nothing can be cached."""
        shaped = shape_of(pod)
        key = profile.key, _encode(shaped)
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
        """As ``_shape``, of the plugins that look at no labels."""
        bare = structs.replace(shaped, metadata=structs.replace(shaped.metadata, labels={}))
        key = profile.key, _encode(bare)
        shape = self._without_labels.get(key)
        if shape is None:
            shape = _Shape(_parts(bare, signers.by_shape, by_resources), len(key[1]))
            self._without_labels.put(key, shape)
        return shape.parts


def _halves(profile: Profile, by_resources: frozenset[Plugin[Any]]) -> _Halves:
    others = narrowed(profile, lambda plugin: plugin not in by_resources)
    above = narrowed(others, lambda plugin: isinstance(plugin, SignedByLabels))
    # Where a search ends early, its order is that of all plugins together.
    apart = bool(above.evaluating) and not profile.samples
    below = narrowed(others, lambda plugin: not isinstance(plugin, SignedByLabels))
    resources = narrowed(profile, by_resources.__contains__)
    return resources, others, (below, above) if apart else None


def _plugins(profile: Profile) -> _Plugins:
    plugins = profile.evaluating
    by_selectors = [plugin for plugin in plugins if isinstance(plugin, SignedBySelectors)]
    readers = tuple((plugin.name, plugin) for plugin in plugins if isinstance(plugin, ClaimReader))
    naming = tuple(filter(_minds_named_node, by_selectors))
    filters = [[enabled.plugin for enabled in at] for at in (profile.pre_filter, profile.filter)]
    named = all(any(isinstance(plugin, NamedNodeFilter) for plugin in at) for at in filters)
    return _Plugins(
        by_selectors=len(by_selectors) == len(plugins),
        claim_readers=readers if len(by_selectors) == len(plugins) else (),
        naming=naming if named and len(by_selectors) == len(plugins) else None,
        signers=_Signers.of(plugins, claims=True),
        without_claims=_Signers.of(plugins, claims=False),
        by_resources=frozenset(filter(may_read_resources_alone, plugins)),
    )


def _minds_named_node(plugin: SignedBySelectors) -> bool:
    """Return whether it matters to ``plugin`` that some pods name a node."""
    return type(plugin).leaves_named_node is not SignedBySelectors.leaves_named_node


def _signs_shapes(plugin: Plugin[Any]) -> bool:
    return not isinstance(plugin, CacheablePlugin) or isinstance(plugin, SignedByShape | SignedByRequests)


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
        signature, parts = _signed(plugin, pod)
        if signature is None:
            return None
        whole.append(signature)
        kinds = _kinds_read_alike(plugin, pod, parts) if plugin in candidates else None
        if kinds is None:
            static.append(signature)
        else:
            by_resources.add(plugin)
            kinds_read.update(kinds)
    signed = _Signed(tuple(whole)), _Signed(tuple(static)), below.static
    return _Parts(*signed, frozenset(by_resources), frozenset(kinds_read))


def _kinds_read_alike(plugin: Plugin[Any], pod: Pod, parts: Part) -> Collection[type[Object]] | None:
    """Return the kinds of objects that ``plugin`` reads, which say the same of all nodes, beside resources;
    None where it reads anything else.
    """
    if parts is Part.RESOURCES:
        return ()
    reads_both = parts == Part.RESOURCES | Part.OBJECTS
    if reads_both and isinstance(plugin, ObjectReader) and plugin.reads_alike(pod):
        return plugin.kinds_read(pod)
    return None


def _signed(plugin: Plugin[Any], pod: Pod) -> tuple[Hashable | None, Part]:
    """Return the plugin's signature of ``pod``, None if it has none, and what its answers depend on.

    Raises:
        PluginFailureError: It raised, or said what can't be used.
    """
    if not isinstance(plugin, CacheablePlugin):
        return None, Part.ALL
    try:
        signature = plugin.signature(pod)
        hash(signature)
        parts = plugin.depends_on(pod) if signature is not None else Part.ALL
    except MooringError:
        raise
    except Exception as error:
        TRACEBACKS.tell(plugin.name, "Sign", error)
        raise plugin_failure(plugin.name, "Sign", f"{type(error).__name__}: {error}") from error
    if not isinstance(parts, Part):
        raise plugin_failure(plugin.name, "Sign", f"depends_on returned {parts}, which is not a Part")
    return signature, parts
