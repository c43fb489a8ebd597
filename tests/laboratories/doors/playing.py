"""One set of manifests in a real cluster and through mooring's commands: where do the two differ?"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from mooring.cluster.manifests import load_manifests
from mooring.framework import Pod
from tests.laboratories.doors.asking import ask
from tests.laboratories.doors.cluster import OBJECT, Attempt, DoorsCluster, condition_of, key_of
from tests.laboratories.doors.files import in_files, must_gather
from tests.laboratories.doors.foreign import OWN_GROUPS
from tests.laboratories.doors.what_if import Future
from tests.laboratories.e2e.api import Manifest


@dataclass(frozen=True)
class Played:
    """The result of one set.

    Attributes:
        pods: How many pods the cluster had.
        placed: How many of them kube-scheduler bound.
        pending: How many it didn't.
        asked: How many answers of mooring were compared.
        differences: A line for each that wasn't the same.
    """

    pods: int
    placed: int
    pending: int
    asked: int
    differences: Sequence[str]


def play(cluster: DoorsCluster, objects: Sequence[Manifest], random: Random, folder: Path) -> Played:
    """Put the objects into the cluster and into files, and compare what becomes of their pods.

    Args:
        cluster: Is emptied first.
        objects: The set.
        random: Decides how the files look.
        folder: Gets the files, and is emptied first.

    Raises:
        ApiError: The API server rejects an object.
        TimeoutError: The cluster doesn't come to rest.
    """
    shutil.rmtree(folder, ignore_errors=True)
    files = in_files(random, objects)
    given = files.write(folder / "given")
    cluster.hold()
    cluster.make([one for one in files.posted if one.manifest["apiVersion"] in OWN_GROUPS])
    comparison = _Comparison(cluster, given)
    if comparison.schedule():
        comparison.explain_first()
        dump = must_gather(cluster.dump()).write(folder / "dump")
        comparison.ask_of_dump(dump)
        # `what-if` evicts no pods for those that are pending in the files.
        comparison.what_if(random, dump if comparison.preempted else given, folder)
    return comparison.played()


class _Comparison:
    """mooring's answers, compared with the cluster's.

    Args:
        cluster: Has all objects; kube-scheduler is held.
        given: The files.
    """

    def __init__(self, cluster: DoorsCluster, given: Path) -> None:
        self._cluster = cluster
        self._given = given
        self._there = cluster.arrived()
        self._after: dict[str, Manifest] = {}
        self._attempts: Sequence[Attempt] = ()
        self._ours: dict[str, str] = {}
        self._asked = 0
        self._differences: list[str] = []

    def played(self) -> Played:
        """Return the whole result."""
        placed = sum("nodeName" in item["spec"] for item in self._after.values())
        return Played(
            len(self._after), placed, len(self._after) - placed, self._asked, tuple(self._differences)
        )

    def schedule(self) -> bool:
        """Compare `mooring schedule`: each pod's node, or the reason why it has none.

        Returns:
            Whether all of that is the same.
        """
        rows = self._said("schedule", "--manifests", self._given)
        alike = [] if rows is None else self._alike(load_manifests([self._given]).pods)
        said = {row["pod"]: row for row in rows or ()}
        self._ours = {
            key_of(item): pod.key for ours, theirs in alike for pod, item in zip(ours, theirs, strict=False)
        }
        nodes = {key: _node_of(said.get(own)) for key, own in self._ours.items()}
        self._attempts = self._cluster.run(nodes)
        self._after = {key_of(item): item for item in self._cluster.pods()}
        for ours, theirs in alike:
            # Which of them got which place may depend on when each was tried again.
            ours.sort(key=lambda pod: _node_of(said.get(pod.key)))
            theirs.sort(key=lambda item: self._node_after(key_of(item)))
            for pod, item in zip(ours, theirs, strict=False):
                self._compare_pod(item, said.get(pod.key))
        return not self._differences

    def explain_first(self) -> None:
        """Compare `mooring explain` of the pod that was tried first, when all others had yet to be placed."""
        if self._attempts:
            first = self._attempts[0]
            self._explain("explain", first, self._ours[first.pod], self._given)

    def ask_of_dump(self, dump: Path) -> None:
        """Compare `explain` and `why-pending` of a dump with attempts after which nothing has changed."""
        bound = [at for at, one in enumerate(self._attempts) if one.node]
        last = {one.pod: at for at, one in enumerate(self._attempts)}
        start = bound[-1] if bound else 0
        late = [one for at, one in enumerate(self._attempts) if at >= start and last[one.pod] == at]
        groups = self._said("why-pending", "--manifests", dump) or []
        # A group's message is that of its first pod.
        said = {group["examples"][0]: group["message"] for group in groups}
        for one in late[:_LATE_PODS]:
            self._explain("explain of a dump", one, one.pod, dump)
            if one.pod in said:
                self._compare("why-pending of a dump", one, "", said[one.pod])
        pending = sum("nodeName" not in item["spec"] for item in self._after.values())
        if pending != sum(group["pods"] for group in groups):
            self._differs(f"{pending} pods are pending, why-pending has {groups}")

    @property
    def preempted(self) -> bool:
        """Whether a pod of the files had to go."""
        return any(key_of(item) not in self._after for item in self._there)

    def what_if(self, random: Random, manifests: Path, folder: Path) -> None:
        """Compare answers of `mooring what-if` with the cluster's behaviour."""
        future = Future(self._cluster, random, self._said, folder)
        self._differences += future.differences(manifests)
        self._asked += future.asked

    def _said(self, *argv: object) -> Any:
        """Return the document that a command prints; None, and a difference, when it can't decide."""
        answer = ask(*argv, "-o", "json")
        if answer.code in _DECIDED:
            return answer.document
        self._differs(f"{argv[0]} ends with {answer.code}: {answer.complaints.strip()}")
        return None

    def _explain(self, what: str, theirs: Attempt, pod: str, manifests: Path) -> None:
        """Compare the answer of `mooring explain` about a pod; any node of equal totals is right."""
        document = self._said("explain", pod, "--manifests", manifests)
        if document is not None:
            node = theirs.node if theirs.node in document["ties"] else document["selected"] or ""
            self._compare(what, theirs, node, document["status"]["message"])

    def _compare_pod(self, item: Manifest, row: Manifest | None) -> None:
        """Compare what became of a pod with its row; a pod that had a node has one if it is preempted."""
        key = key_of(item)
        after = self._after.get(key)
        if "nodeName" in item["spec"]:
            preempted = row is not None and row["preemptedBy"] is not None
            self._compare(
                "schedule", Attempt(key, "stays" * (after is not None)), "stays" * (not preempted), ""
            )
        elif after is None or row is None:
            self._differs(f"{key}: {'gone' if after is None else 'there'} in the cluster, schedule has {row}")
        else:
            message = self._message(key, condition_of(after), row["message"])
            self._compare(
                "schedule", Attempt(key, self._node_after(key), message), _node_of(row), row["message"]
            )

    def _message(self, key: str, condition: Manifest, ours: str) -> str:
        """Return why a pod has no node, as kube-scheduler says."""
        if condition.get("reason") == "SchedulingGated" or not condition:
            # kube-scheduler has not tried it: it has gates, or is another scheduler's.
            return ours
        if Attempt(key, message=ours) in self._attempts:
            # It was tried again later, when there were other pods; `schedule` tries each pod once.
            return ours
        theirs = str(condition.get("message", ""))
        # Once victims are deleted `schedule` tries all pods again, kube-scheduler those that this may help.
        alike = self.preempted and theirs.partition(_PREEMPTION)[0] == ours.partition(_PREEMPTION)[0]
        return ours if alike else theirs

    def _node_after(self, pod: str) -> str:
        """Return the node that a pod has at the end."""
        after = self._after.get(pod, {"spec": {}})
        return str(after["spec"].get("nodeName", ""))

    def _compare(self, what: str, theirs: Attempt, node: str, message: str) -> None:
        self._asked += 1
        if (theirs.node, theirs.message * (not theirs.node)) != (node, message * (not node)):
            self._differs(f"{theirs.pod}: {theirs.node or theirs.message}, {what} says {node or message}")

    def _alike(self, pods: Iterable[Pod]) -> list[tuple[list[Pod], list[Manifest]]]:
        """Return mooring's pods and the cluster's that are alike and of one object, in their order."""
        found: dict[tuple[str, str], tuple[list[Pod], list[Manifest]]] = defaultdict(lambda: ([], []))
        for pod in pods:
            plain = msgspec.to_builtins(pod, enc_hook=dict)
            found[pod.metadata.annotations.get(OBJECT, pod.key), _own_name(plain)][0].append(pod)
        for item in self._there:
            name = item["metadata"].get("annotations", {}).get(OBJECT, key_of(item))
            found[name, _own_name(item)][1].append(item)
        for (name, own), (ours, theirs) in found.items():
            if len(ours) != len(theirs):
                keys = [key_of(item) for item in theirs]
                made = [pod.key for pod in ours]
                self._differs(f"object {name} {own}: pods {keys}, mooring makes {made}")
        return list(found.values())

    def _differs(self, line: str) -> None:
        self._differences.append(line)


_DECIDED = (0, 3, 4)
"""Exit codes of a command that has decided."""

_PREEMPTION = " preemption: "
"""The text before kube-scheduler's sentence about preemption."""

_LATE_PODS = 3
"""The number of pods of a dump in the questions."""


def _node_of(row: Manifest | None) -> str:
    """Return the node of a row of `mooring schedule`; "" without one."""
    return str((row or {}).get("node") or "")


def _own_name(pod: Manifest) -> str:
    """Return the part of the name that distinguishes a pod from different pods of its object; "" if all are
    alike.
    """
    owner = next(iter(pod["metadata"].get("ownerReferences", ())), {"kind": ""})
    if owner["kind"] == "StatefulSet":
        return str(pod["metadata"]["name"])
    if owner["kind"] == "DaemonSet":
        required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
    return ""
