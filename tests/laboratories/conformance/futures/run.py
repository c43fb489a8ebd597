"""mooring's answers about nodes that go and nodes that come, judged by kube-scheduler's own code.

    python -m tests.laboratories.conformance.futures.run removal --seed 7 --count 2000
    python -m tests.laboratories.conformance.futures.run node-groups --seed 7 --count 2000

Removal: each pod's new node has to be one that kube-scheduler might select without the old one, pod after
pod, and it has to find none for the pod that keeps a node. NodeGroups: with the advised nodes kube-scheduler
leaves over as many pods as the answer, and with one fewer it leaves more. It takes mooring's choice of equal
nodes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial

from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.framework import Node, Pod
from mooring.framework.errors import PluginFailureError
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.node_groups import NodeGroup, NodeGroups
from mooring.sessions.pending import PendingPods
from mooring.sessions.placing import place_pod
from mooring.sessions.removal import Departure, Removal, adopted
from mooring.sessions.work_trees import Work
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.futures.generator import new_nodes
from tests.laboratories.conformance.futures.generator import scenario as draw
from tests.laboratories.conformance.program import NEWEST, Oracle, build

_REGISTRY = registry_of(EngineOptions())


class WrongError(Exception):
    """mooring said something else than kube-scheduler's code."""


class InvalidError(Exception):
    """The API server would not take the scenario."""


class Cluster:
    """The objects for the oracle; pods get their nodes in it.

    Args:
        oracle: Asks it.
        scenario: The scenario.
        objects: The objects to begin with.
    """

    def __init__(self, oracle: Oracle, scenario: Manifest, objects: list[Manifest]) -> None:
        self._oracle = oracle
        self._scenario = scenario
        self.objects = list(objects)

    def place(self, pod: Manifest, node: str) -> None:
        """Place a pod on ``node``, which mooring selected; "" = it found none.

        Raises:
            WrongError: kube-scheduler would not do so.
            InvalidError: The oracle can't judge it.
        """
        answer = self._oracle.ask(
            {
                "id": self._scenario["id"],
                "objects": self.objects,
                "pod": pod,
                "feature_gates": self._scenario["feature_gates"],
            }
        )
        if "error" in answer:
            raise InvalidError(answer["error"])
        ties = answer["document"]["ties"]
        if node not in ties if node else ties:
            raise WrongError(f"{pod['metadata']['name']}: {node or 'no node'}, kube-scheduler {ties}")
        if node:
            self.objects.append(on(pod, node))


def on(pod: Manifest, node: str) -> Manifest:
    """Return the pod as it runs there."""
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}}


def anew(pod: Manifest) -> Manifest:
    """Return the pod that the controller creates instead."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**{key: value for key, value in pod.items() if key != "status"}, "spec": spec}


def work_over(scenario: Manifest, objects: list[Manifest]) -> tuple[Work, EngineOptions]:
    options = EngineOptions(kube_version=NEWEST, feature_gates=scenario["feature_gates"] or {})
    core: Core = build_core(options, _REGISTRY, configuration_of(options, _REGISTRY))
    core.state.replace("manifests", objects_from(objects, options.gates).objects)
    return LiveState(core, options).work(), options


def removal(scenario: Manifest, oracle: Oracle, tally: Counter[str]) -> None:
    """Judge the answer about each node; raises as ``Cluster.place``."""
    work, _ = work_over(scenario, scenario["objects"])
    looking = Removal(work, partial(adopted, work.engine, ""), departure=Departure.DELETION, seed=3)
    pods = {each["metadata"]["name"]: each for each in scenario["objects"] if each["kind"] == "Pod"}
    for found in looking.try_nodes(sorted(work.tree.snapshot.nodes.index), NoDeadline()):
        left = [
            each
            for each in scenario["objects"]
            if each["metadata"]["name"] != found.node_name or each["kind"] != "Node"
        ]
        left = [each for each in left if (each.get("spec") or {}).get("nodeName") != found.node_name]
        cluster = Cluster(oracle, scenario, left)
        tally["nodes that can go" if found.removable else "nodes that can't"] += 1
        for landing in found.landings:
            if landing.message == "no controller would recreate it":
                tally["pods that can't be evicted"] += 1
                continue
            cluster.place(anew(pods[landing.pod.metadata.name]), landing.node_name)
            tally["landings" if landing.node_name else "pods without a node"] += 1


def node_groups(scenario: Manifest, oracle: Oracle, tally: Counter[str]) -> None:
    """Judge the answer about each group; raises as ``Cluster.place``."""
    objects = scenario["objects"]
    work, options = work_over(scenario, objects)
    pods = [pod_from_manifest(pod, (), options.gates) for pod in scenario["pending"]]
    manifests = {pod["metadata"]["name"]: pod for pod in scenario["pending"]}
    cluster = Cluster(oracle, scenario, objects)
    mine, _ = work_over(scenario, objects)
    before, waiting = len(pods) + 1, pods
    while len(waiting) < before:
        before, waiting = len(waiting), _place_all(mine, cluster, waiting, manifests)
    placing = PendingPods(work, partial(adopted, work.engine, ""), 3)
    looking = NodeGroups(work, placing.place_all(pods, NoDeadline()), placing.profile_of, seed=3)
    work.keep()
    if [pod.metadata.name for pod in waiting] != [left.pod.metadata.name for left in looking.rest]:
        raise WrongError("other pods are left over before there are new nodes")
    mine.keep()
    groups = [NodeGroup(group["metadata"]["name"], _node(group), most=6) for group in scenario["groups"]]
    by_name = {group["metadata"]["name"]: group for group in scenario["groups"]}
    for option in looking.options(groups, NoDeadline()):
        said = sorted(left.pod.metadata.name for left in option.left_over)
        for count in (option.count, option.count - 1):
            if count < 0 or not waiting:
                continue
            more = new_nodes(by_name[option.group.name], count)
            there = Cluster(oracle, scenario, [*more, *cluster.objects])
            mine.tree.put_objects([_node(node) for node in more])
            left = _place_all(mine, there, waiting, manifests)
            mine.go_back()
            names = sorted(pod.metadata.name for pod in left)
            if count == option.count and names != said:
                raise WrongError(f"{option.group.name} x {count}: {said} are left over, not {names}")
            if count < option.count and len(names) <= len(said):
                raise WrongError(f"{option.group.name}: {count} nodes would do, not {option.count}")
        tally["groups"] += 1
        tally[f"groups of {min(option.count, 3)} nodes" + (" or more" if option.count >= 3 else "")] += 1
        tally["groups that leave pods over"] += bool(said)


def _place_all(work: Work, cluster: Cluster, pods: list[Pod], manifests: dict[str, Manifest]) -> list[Pod]:
    """Place pods one by one on both sides; return those without a node."""
    left = []
    for pod in pods:
        placed = place_pod(work, pod, work.engine.profile("", pod), seed=3)
        node = (placed.choice.node_name or "") if placed.status.ok else ""
        cluster.place(manifests[pod.metadata.name], node)
        if not node:
            left.append(pod)
    return left


def _node(manifest: Manifest) -> Node:
    (node,) = objects_from([manifest]).objects
    assert isinstance(node, Node)
    return node


QUESTIONS = {"removal": removal, "node-groups": node_groups}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=sorted(QUESTIONS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000, help="scenarios")
    parser.add_argument("--only", type=int, help="this scenario alone")
    args = parser.parse_args()
    tally, wrong = Counter[str](), 0
    with Oracle(build(NEWEST)) as oracle:
        for index in range(args.count) if args.only is None else [args.only]:
            scenario = draw(args.seed, index)
            try:
                QUESTIONS[args.question](scenario, oracle, tally)
                tally["scenarios"] += 1
            except InvalidError:
                tally["rejected by the API server's rules"] += 1
            except PluginFailureError:
                tally["a plugin fails, in kube-scheduler as well"] += 1
            except WrongError as error:
                wrong += 1
                print(f"{scenario['id']}: {error}", flush=True)
    print(f"{wrong} wrong; " + ", ".join(f"{name}: {count}" for name, count in sorted(tally.items())))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
