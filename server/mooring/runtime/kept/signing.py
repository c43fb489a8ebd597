"""Which pods get the same answers, found with few questions to plugins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from mooring.framework import Part, Plugin, Pod
from mooring.framework.dependence import without_requests
from mooring.framework.errors import MooringError
from mooring.runtime.kept.amounts import (
    AmountPlugins,
    looks_at_amounts_alone,
    may_look_at_amounts_alone,
)
from mooring.runtime.kept.second_use import SecondUseCache
from mooring.runtime.kept.standing import narrowed
from mooring.runtime.profile import Profile
from mooring.runtime.progress import plugin_failure
from mooring.runtime.tracebacks import TRACEBACKS

_MOST_SHAPE_BYTES = 64 << 20
"""The budget of shapes, counted by the bytes of the pods that they were found for."""

_encode = msgspec.msgpack.Encoder().encode


class Signature(msgspec.Struct, frozen=True):
    """What decides the answers of a profile's plugins for a pod.

    Attributes:
        whole: Equal for pods that all plugins give the same answers,
        standing: and for those that the plugins of ``others`` do.
        amounts: The profile's plugins that look at amounts alone.
        others: The profile with the other ones.
    """

    whole: Hashable
    standing: Hashable
    amounts: AmountPlugins
    others: Profile


class _Plugins(msgspec.Struct, frozen=True):
    """The plugins of a profile that evaluate pods, each once.

    Attributes:
        by_shape: Those whose sign doesn't look at what a pod asks for.
        by_requests: The other ones.
        by_amounts: Those of either that may look at amounts alone.
    """

    by_shape: tuple[Plugin[Any], ...]
    by_requests: tuple[Plugin[Any], ...]
    by_amounts: frozenset[Plugin[Any]]


class _Signs(msgspec.Struct, frozen=True):
    """The signs of some plugins.

    Attributes:
        whole: All of them.
        standing: The same without those of
        by_amounts: the plugins that look at amounts alone.
    """

    whole: tuple[Hashable, ...]
    standing: tuple[Hashable, ...]
    by_amounts: frozenset[Plugin[Any]]


class _Shape(msgspec.Struct):
    """What is known of pods of one shape.

    Attributes:
        signs: Those of the plugins that don't look at what a pod asks for; None when nothing is used again.
        nbytes: The bytes of the encoded pod.
        used: When it was used last, as its cache counts.
    """

    signs: _Signs | None
    nbytes: int
    used: int = 0


class Signer:
    """Signs pods. Safe from any thread: what two of them find out at the same time is the same."""

    def __init__(self) -> None:
        self._plugins: dict[str, _Plugins] = {}
        self._shapes: SecondUseCache[_Shape] = SecondUseCache(_MOST_SHAPE_BYTES)
        self._halves: dict[tuple[str, frozenset[Plugin[Any]]], tuple[AmountPlugins, Profile]] = {}

    def sign(self, pod: Pod, profile: Profile) -> Signature | None:
        """The signature of ``pod``, which has no name; None when nothing is used again.

        A plugin says so, or an extender is interested in the pod: what that answers, mooring can't foresee.

        Raises:
            PluginFailureError: A plugin raised, or signed with what can't be hashed.
        """
        if profile.extenders_for(pod):
            return None
        plugins = self._plugins.get(profile.name)
        if plugins is None:
            plugins = self._plugins[profile.name] = _plugins(profile)
        shape = self._shape(pod, profile, plugins)
        own = shape and _signs(pod, plugins.by_requests, plugins.by_amounts)
        if shape is None or own is None:
            return None
        by_amounts = shape.by_amounts | own.by_amounts
        halves = self._halves.get((profile.name, by_amounts))
        if halves is None:
            halves = self._halves[profile.name, by_amounts] = (
                AmountPlugins.of(narrowed(profile, by_amounts.__contains__)),
                narrowed(profile, lambda plugin: plugin not in by_amounts),
            )
        return Signature(
            (profile.name, shape.whole, own.whole), (profile.name, shape.standing, own.standing), *halves
        )

    def _shape(self, pod: Pod, profile: Profile, plugins: _Plugins) -> _Signs | None:
        """None when a plugin that doesn't look at what ``pod`` asks for says that nothing is used again."""
        shapeless = without_requests(pod)
        key = profile.name, _encode(shapeless)
        shape = self._shapes.get(key)
        if shape is None:
            signs = _signs(shapeless, plugins.by_shape, plugins.by_amounts)
            shape = _Shape(signs, len(key[1]))
        self._shapes.put(key, shape)
        return shape.signs


def _plugins(profile: Profile) -> _Plugins:
    plugins = profile.evaluating
    return _Plugins(
        by_shape=tuple(plugin for plugin in plugins if not plugin.signs_requests),
        by_requests=tuple(plugin for plugin in plugins if plugin.signs_requests),
        by_amounts=frozenset(filter(may_look_at_amounts_alone, plugins)),
    )


def _signs(pod: Pod, plugins: Iterable[Plugin[Any]], candidates: frozenset[Plugin[Any]]) -> _Signs | None:
    """The signs for ``pod``; None when a plugin says that nothing is used again.

    Only ``candidates`` may look at amounts alone.
    """
    whole, standing, by_amounts = [], [], set()
    for plugin in plugins:
        sign = _sign(plugin, pod)
        if sign is None:
            return None
        whole.append(sign)
        if plugin in candidates and looks_at_amounts_alone(plugin, pod):
            by_amounts.add(plugin)
        else:
            standing.append(sign)
    return _Signs(tuple(whole), tuple(standing), frozenset(by_amounts))


def _sign(plugin: Plugin[Any], pod: Pod) -> Hashable | None:
    """The plugin's sign, after it has also said what its answers depend on.

    Raises:
        PluginFailureError: It raised, or said what can't be used.
    """
    try:
        sign = plugin.sign(pod)
        hash(sign)
        parts = [plugin.depends_on(pod, idle=idle) for idle in (False, True)] if sign is not None else []
    except MooringError:
        raise
    except Exception as error:
        TRACEBACKS.tell(plugin.name, "Sign", error)
        raise plugin_failure(plugin.name, "Sign", f"{type(error).__name__}: {error}") from error
    if not all(isinstance(part, Part) for part in parts):
        raise plugin_failure(plugin.name, "Sign", f"depends_on returned {parts}, which are not Part")
    return sign
