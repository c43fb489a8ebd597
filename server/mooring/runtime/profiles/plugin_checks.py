"""Checks a plugin class against the extension points it claims, when it is registered."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

from mooring.framework import CacheablePlugin, FilterPlugin, Plugin, ScorePlugin
from mooring.framework.points import POINTS, calls_of, points_of

_BASES: tuple[type[Any], ...] = (*(point.base for point in POINTS.values()), CacheablePlugin)

_OPTIONAL_CALLS = {
    "add_pod": ("state", "pod", "other", "node"),
    "remove_pod": ("state", "pod", "other", "node"),
}


class PluginDefinitionError(TypeError):
    """A plugin class does not fit its extension points; the message names plugin and method."""


@cache
def check_plugin_class(name: str, kind: type[Plugin[Any]]) -> None:
    """Check that ``kind`` can serve every point it claims.

    Raises:
        PluginDefinitionError: A method is missing or has another signature than the point; both or
            none of the two forms of Filter or Score are there; two ways to normalise are declared;
            ``Args`` is not a dataclass.
    """
    points = points_of(kind)
    if not points:
        raise PluginDefinitionError(f"plugin {name!r}: {kind.__name__} implements no extension point")
    if kind.__abstractmethods__:
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise PluginDefinitionError(f"plugin {name!r}: {kind.__name__} lacks {missing}")
    for base in (base for base in _BASES if issubclass(kind, base)):
        for method, parameters in calls_of(base).items():
            _check_call(name, kind, method, parameters)
    for method, parameters in _OPTIONAL_CALLS.items():
        if hasattr(kind, method):
            _check_call(name, kind, method, parameters)
    _check_one_form(name, kind)
    if kind.Args is not None and not dataclasses.is_dataclass(kind.Args):
        raise PluginDefinitionError(f"plugin {name!r}: Args of {kind.__name__} must be a dataclass")


def _check_call(name: str, kind: type[Plugin[Any]], method: str, parameters: Sequence[str]) -> None:
    signature = inspect.signature(getattr(kind, method))
    try:
        signature.bind(None, *parameters)
    except TypeError as error:
        expected = f"{method}(self, {', '.join(parameters)})"
        raise PluginDefinitionError(
            f"plugin {name!r}: {kind.__name__}.{method}{signature} can't be called as {expected}: {error}"
        ) from None


def _check_one_form(name: str, kind: type[Plugin[Any]]) -> None:
    for base, single, bulk in (
        (FilterPlugin, "filter", "filter_nodes"),
        (ScorePlugin, "score", "score_nodes"),
    ):
        if not issubclass(kind, base):
            continue
        written = [form for form in (single, bulk) if getattr(kind, form) is not getattr(base, form)]
        if len(written) != 1:
            found = "both" if written else "neither"
            raise PluginDefinitionError(
                f"plugin {name!r}: {kind.__name__} has {found} of {single} and {bulk}; write exactly one"
            )
    if (
        issubclass(kind, ScorePlugin)
        and kind.normalizer is not None
        and kind.normalize_score is not ScorePlugin.normalize_score
    ):
        raise PluginDefinitionError(
            f"plugin {name!r}: {kind.__name__} has both a normalizer and normalize_score; keep one"
        )
