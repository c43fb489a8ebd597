"""Queueing hints for pods that NodeAffinity rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, Node, Pod, QueueingHint
from mooring.framework.node_selector import required_match, selector_match
from mooring.framework.objects import NodeSelector


def events(added: NodeSelector | None) -> tuple[HintedEvent, ...]:
    """Return the events, the same in all releases; ``added`` is what the profile requires of every node."""

    def after_node(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        if added is not None and not selector_match(added, new):
            return QueueingHint.SKIP
        fits = required_match(pod, new)
        return QueueingHint.when(fits and (old is None or not required_match(pod, old)))

    return (HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, after_node),)
