"""The DaemonSet pods that a new node gets before other pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from mooring.framework import Node, Pod
from mooring.framework.daemons import daemon_pod
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import DaemonSet
from mooring.framework.resources import PODS
from mooring.runtime.answers import Progress
from mooring.sessions.placing import place_on
from mooring.sessions.work_trees import Work


class Daemons:
    """The DaemonSets of a work tree. For one thread."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._owners = sorted(work.tree.snapshot.objects.all(DaemonSet), key=lambda each: each.metadata.name)

    def pods(self, node: Node) -> list[Pod]:
        """Return the pods that a new node like ``node`` would get, as far as it has room."""
        pods = (daemon_pod(owner, node) for owner in self._owners)
        return [pod for pod in pods if pod is not None]

    def __bool__(self) -> bool:
        return bool(self._owners)

    def requests(self, node: Node) -> Counter[str]:
        """Return what these pods request together: CPU in thousandths, the rest in units."""
        total = Counter[str]()
        for pod in self.pods(node):
            total.update({**dict(self._work.tree.kind_of(pod, remember=False).usage.requests), PODS: 1})
        return total

    def start(self, nodes: Sequence[Node], progress: Progress) -> None:
        """Place the pods on new nodes that are alike but for their names; what finds no room is left out.
        Raises PluginFailureError if a plugin failed.
        """
        pods = [pod for pod in self.pods(nodes[0]) if self._runs(pod, nodes[0], progress)] if nodes else []
        for node in nodes[1:]:
            for pod in pods:
                self._work.tree.assume(_own(pod, node), node.metadata.name)

    def _runs(self, pod: Pod, node: Node, progress: Progress) -> bool:
        own, name = _own(pod, node), node.metadata.name
        try:
            return place_on(self._work, own, name, self._work.engine.profiles.of_pod("", own), progress).ok
        except NotFoundError:
            self._work.tree.assume(own, name)
            return True


def _own(pod: Pod, node: Node) -> Pod:
    """Return the DaemonSet pod of ``node``."""
    name = f"{pod.metadata.name}/{node.metadata.name}"
    return replace(pod, metadata=replace(pod.metadata, name=name, uid=f"daemon/{pod.metadata.uid}/{name}"))
