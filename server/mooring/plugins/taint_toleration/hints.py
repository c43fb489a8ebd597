"""Queueing hints for pods that TaintToleration rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Node, Pod, QueueingHint
from mooring.framework.cluster_events import target_pod
from mooring.framework.taints import untolerated


def events(version: KubeVersion, *, comparing: bool) -> tuple[HintedEvent, ...]:
    """Return the events of a release; with ``comparing``, Gt and Lt compare numbers."""

    def keeps_off(node: Node, pod: Pod) -> bool:
        return untolerated(node.spec.taints, pod.spec.tolerations, comparing=comparing) is not None

    def after_node(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        kept_off = old is None or keeps_off(old, pod)
        return QueueingHint.when(kept_off and not keeps_off(new, pod))

    return (
        HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, after_node),
        HintedEvent.of(target_pod(version), ActionType.UPDATE_POD_TOLERATION, _after_toleration),
    )


def _after_toleration(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.metadata.uid == new.metadata.uid)
