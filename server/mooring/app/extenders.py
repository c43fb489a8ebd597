"""The extenders of a configuration, and what has to be kept for them."""

from __future__ import annotations

from collections.abc import Container, Sequence

from mooring.cluster.raw_objects import RawObjects, Wanted
from mooring.config.types import ExtenderStanza
from mooring.framework import Pod
from mooring.scheduler.extender import HttpExtender, build_transport


def raw_objects_for(extenders: Sequence[ExtenderStanza], schedulers: Container[str]) -> RawObjects:
    """Return the source's store of objects for the extenders, no larger than their stanzas require.

    Pods without a node are kept if there is any extender, those with one if it is sent victims, nodes if it
    is sent nodes. ``schedulers`` are the names of the profiles.
    """
    sent_whole = [extender for extender in extenders if not extender.node_cache_capable]
    sent_victims = any(extender.preempt_verb for extender in sent_whole)

    def wanted(pod: Pod) -> bool:
        if pod.finished:
            return False
        return sent_victims if pod.spec.node_name else pod.spec.scheduler_name in schedulers

    kinds: dict[str, Wanted] = {"Pod": wanted} if extenders else {}
    if any(extender.filter_verb or extender.prioritize_verb for extender in sent_whole):
        kinds["Node"] = lambda _: True
    return RawObjects(kinds)


def extenders_of(
    extenders: Sequence[ExtenderStanza], schedulers: Container[str]
) -> tuple[list[HttpExtender], RawObjects]:
    """Return the extenders in the order in which they are called, and where they find what they are sent.

    Those that can be ignored come last.

    Mirrors ``buildExtenders`` in ``pkg/scheduler/scheduler.go``. Raises InvalidArgumentError if a certificate
    can't be used.
    """
    raw_objects = raw_objects_for(extenders, schedulers)
    built = [
        HttpExtender(stanza, build_transport(stanza, f"extenders[{index}]"), raw_objects)
        for index, stanza in enumerate(extenders)
    ]
    return sorted(built, key=lambda extender: extender.ignorable), raw_objects
