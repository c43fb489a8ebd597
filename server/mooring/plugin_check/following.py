"""The reads of a pure plugin, and the calls that it needs if its answers are kept by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.cluster.kinds import ClusterObject
from mooring.framework import EVERY_EVENT, HintedEvent, Plugin
from mooring.plugin_check.clusters import made_up_for
from mooring.plugin_check.deciding import Decider, cluster_of, counted
from mooring.plugin_check.subject import Subject
from mooring.runtime.pure.followed_plugin import FollowedPlugin
from mooring.runtime.pure.reads import written

NODES = 5000
"""Number of nodes for which calls are counted."""

ODD_PODS = 500
"""Number of pods with odd values: some reads need two that fit together."""


@dataclass(frozen=True, slots=True)
class Following:
    """The reads and calls of a plugin.

    Attributes:
        followed: Whether its answers are kept by its reads.
        reads: The reads, such as ``node.labels[example.com/rack]``.
        calls: By method, the calls for the first decision and for a later one.
        events: The changes after which a rejected pod is tried again.
    """

    nodes: int
    followed: bool
    reads: tuple[str, ...]
    calls: dict[str, tuple[float, float]]
    events: tuple[str, ...]


def following(subject: Subject, dump: Sequence[ClusterObject] = ()) -> Following:
    """Return the reads and calls on a dump's objects, else on made-up nodes. Raises PluginFailureError if the
    plugin fails.
    """
    objects, templates = cluster_of(subject, dump, NODES)
    decider, spent = counted(subject, lambda: Decider(subject.among_defaults(objects), templates))
    plugin = decider.engine.profile().plugins[subject.name]
    odd = made_up_for(subject, 1)
    more = Decider(subject.alone(odd.objects()), [odd.pod(f"odd-{number}") for number in range(ODD_PODS)])
    more.warm_up()
    reads = {*_reads(plugin), *_reads(more.engine.profile().plugins[subject.name])}
    return Following(
        len(decider.engine.state.snapshot.nodes.index),
        isinstance(plugin, FollowedPlugin) and plugin.found.followed,
        tuple(sorted(reads)),
        {name: (first, later) for name, (first, later, _) in spent.items()},
        tuple(map(_event, plugin.events_to_register())),
    )


def _reads(plugin: Plugin[object]) -> set[str]:
    return set(map(written, plugin.found)) if isinstance(plugin, FollowedPlugin) else set()


def _event(hinted: HintedEvent) -> str:
    if hinted.event == EVERY_EVENT.event:
        return "every change of its reads" if hinted.hint else "every change"
    action = (hinted.event.action.name or "").lower().replace("_", " ").replace("|", ", ")
    return f"{hinted.event.resource}: {action}{' (if its hint agrees)' if hinted.hint else ''}"
