"""The parts that the Filter plugins of an evaluation read: they decide what can be tried or used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mooring.framework import Part, Plugin
from mooring.framework.cacheable import dependencies_of
from mooring.runtime.cycle.evaluation import Evaluation

_ABOUT_OTHERS = Part.PODS | Part.OUTSIDE | Part.OTHER_NODES


def filters_read(evaluation: Evaluation) -> Part:
    """Return all parts that they read, once PreFilter ran.

    Plugins whose PreFilter notes follow pods that come and go read other nodes, too.
    """
    if evaluation.written.filters_read is None:
        parts = Part.NONE
        for each in evaluation.profile.filter:
            if each.name not in evaluation.written.skipped:
                parts |= dependencies_of(each.plugin, evaluation.pod).possible_parts
        if any(extensions(evaluation, "add_pod")) or any(extensions(evaluation, "remove_pod")):
            parts |= Part.OTHER_NODES
        evaluation.written.filters_read = parts
    return evaluation.written.filters_read


def extensions(evaluation: Evaluation, method: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Name and function of each plugin that wants to hear of pods that come and go: add_pod or remove_pod."""
    for enabled in evaluation.profile.pre_filter:
        function = getattr(enabled.plugin, method, None)
        if function is not None and enabled.name not in evaluation.written.skipped:
            yield enabled.name, function


def independent(evaluation: Evaluation) -> bool:
    """Return whether the pods of a node change nothing for the others."""
    return filters_read(evaluation).of_one_node


def lasting(evaluation: Evaluation) -> bool:
    """Return whether nodes are independent, and the answers change only with the state."""
    return independent(evaluation) and Part.OUTSIDE not in filters_read(evaluation)


def helped_by_pods(evaluation: Evaluation) -> bool:
    """Return whether a node may take the rejected pod once other pods have nodes."""
    pod, asked = evaluation.pod, asked_plugins(evaluation)
    return any(dependencies_of(plugin, pod).possible_parts & _ABOUT_OTHERS for plugin in asked)


def asked_plugins(evaluation: Evaluation) -> list[Plugin[Any]]:
    """Return the plugins of PreFilter and Filter that didn't skip the pod."""
    profile = evaluation.profile
    enabled: dict[str, Plugin[Any]] = {each.name: each.plugin for each in profile.pre_filter}
    enabled |= {each.name: each.plugin for each in profile.filter}
    return [plugin for name, plugin in enabled.items() if name not in evaluation.written.skipped]
