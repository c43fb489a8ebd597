"""Answers of `mooring what-if`, and the cluster's behaviour when an answer is carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tests.laboratories.doors.cluster import POOL, DoorsCluster, key_of
from tests.laboratories.doors.files import must_gather
from tests.laboratories.doors.generator import small_pods
from tests.laboratories.e2e.api import Manifest
from tests.laboratories.e2e.objects import HOSTNAME
from tests.laboratories.e2e.workloads import new_object


class Future:
    """A cluster that small pods of one ReplicaSet fill, and questions about it.

    Args:
        cluster: Changes with each question.
        random: Decides the question.
        said: Asks mooring; None when it can't decide.
        folder: Gets files.

    Attributes:
        asked: How many answers were compared.
    """

    def __init__(self, cluster: DoorsCluster, random: Random, said: Callable[..., Any], folder: Path) -> None:
        self._cluster = cluster
        self._random = random
        self._said = said
        self._folder = folder
        self._template = small_pods(random)
        self._placed = 0
        self.asked = 0

    def differences(self, manifests: Path) -> Iterator[str]:
        """Compare the room that `manifests` have, then another answer."""
        yield from self._capacity(manifests)
        # Which of several different pods gets new room depends on when each is tried again.
        self._cluster.remove_waiting()
        count = self._placed + 5
        while (taken := self._cluster.fill(self._template, count)) == count:
            count += 5
        self._placed = taken
        yield from self._random.choice((self._removal, self._node_groups, self._change))()

    def _capacity(self, manifests: Path) -> Iterator[str]:
        """Yield how many pods of a ReplicaSet find a node."""
        shape = self._file("shape", new_object("v1", "Pod", "more", POOL[0], **self._template))
        for row in self._said("what-if", "capacity", "--manifests", manifests, "--shape", shape) or ():
            self._placed = self._cluster.fill(self._template, row["count"] + 1)
            self.asked += 1
            if self._placed != row["count"]:
                yield f"{self._placed} more pods find a node, what-if capacity says {row}"

    def _removal(self) -> Iterator[str]:
        """A node is drained: its pods go where the answer says, or wait until it is deleted."""
        cluster = self._cluster
        rows = self._said("what-if", "removal", "--manifests", self._dump(self._placed // 2)) or ()
        able = [row for row in rows if row["landings"] and (row["removable"] or _waits(row))]
        if not able:
            return
        row = self._random.choice(able)
        landings = {each["pod"]: each for each in row["landings"]}
        self.asked += 1
        successors = cluster.drain(row["node"], {pod: each["node"] for pod, each in landings.items()})
        for deleted in (False, True) if _waits(row) else (False,):
            if deleted:
                cluster.delete_node(row["node"])
            places = {key_of(item): item["spec"].get("nodeName", "") for item in cluster.pods()}
            for pod, each in landings.items():
                node = places[successors[pod]]
                if node != each["node"] * (deleted or not each["waits"]):
                    yield f"{pod} goes from {row['node']} to {node or 'no node'}, what-if removal says {each}"

    def _node_groups(self) -> Iterator[str]:
        """Check that the answer's number of nodes takes all pods but those of the answer, and one node fewer
        doesn't.
        """
        cluster = self._cluster
        manifests = self._dump(self._placed + self._random.randrange(2, 6))
        group = _like(self._random.choice(cluster.nodes()), "group")
        argv = ("--manifests", manifests, "--group", self._file("group", group))
        for option in (self._said("what-if", "node-groups", *argv) or {"options": ()})["options"]:
            self.asked += 1
            for number in range(option["nodes"]):
                if number and len(cluster.waiting()) <= len(option["left"]):
                    yield f"{number} nodes are enough, what-if node-groups says {option}"
                cluster.add_node(_like(group, f"group-{number}"))
            if len(cluster.waiting()) != len(option["left"]):
                yield f"{cluster.waiting()} are left over, what-if node-groups says {option}"

    def _change(self) -> Iterator[str]:
        """Once the cluster and the pod are changed, the node of the answer takes it."""
        cluster = self._cluster
        manifests = self._dump(self._placed + 1)
        kinds = [word for kind in ("toleration", "label", "request", "node") for word in ("--kind", kind)]
        (pod,) = cluster.waiting()
        found = self._said("what-if", "change", pod, "--manifests", manifests, *kinds) or {"options": ()}
        if not found["options"]:
            return
        option = self._random.choice(found["options"])
        self.asked += 1
        cluster.fill(self._template, self._placed)
        # With its labels, the ReplicaSet would adopt the pod.
        changed = new_object("v1", "Pod", "changed", POOL[0], spec=deepcopy(self._template["spec"]))
        spec = changed["spec"]
        # Changes may help on other nodes, too.
        there = {"key": "metadata.name", "operator": "In", "values": [option["node"]]}
        required = {"nodeSelectorTerms": [{"matchFields": [there]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        # The last kind comes first: a new node may get a label.
        for step in reversed(option["changes"]):
            match step["kind"]:
                case "toleration":
                    taint = {name: step[name] for name in ("key", "value", "effect")}
                    spec["tolerations"] = [*spec.get("tolerations", ()), taint]
                case "label":
                    cluster.label_node(step["node"], {step["key"]: step["value"]})
                case "request":
                    unit = "m" if step["resource"] == "cpu" else ""
                    requests = spec["containers"][0]["resources"]["requests"]
                    requests[step["resource"]] = f"{step['after']}{unit}"
                case _:
                    (like,) = [item for item in cluster.nodes() if item["metadata"]["name"] == step["like"]]
                    cluster.add_node(_like(like, step["node"]))
        node = cluster.place(changed)
        if node != option["node"]:
            yield f"the changed pod goes to {node or 'no node'}, what-if change says {option}"

    def _dump(self, count: int) -> Path:
        """Create ``count`` small pods, and return a dump of the cluster."""
        self._cluster.fill(self._template, count)
        return must_gather(self._cluster.dump()).write(self._folder / "future")

    def _file(self, name: str, item: Manifest) -> Path:
        file = self._folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(item))
        return file


def _waits(row: Manifest) -> bool:
    return any(each["waits"] for each in row["landings"])


def _like(item: Manifest, name: str) -> Manifest:
    """Return a new node like another one, without the parts that come and go with a node's state."""
    taints = [
        taint
        for taint in item["spec"].get("taints", ())
        if not taint["key"].startswith("node.kubernetes.io/")
    ]
    labels = {**item["metadata"]["labels"], HOSTNAME: name}
    status = {key: item["status"][key] for key in ("allocatable", "capacity")}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return new_object(
        "v1",
        "Node",
        name,
        "",
        metadata={"labels": labels},
        spec={"taints": taints},
        status={**status, "conditions": [ready]},
    )
