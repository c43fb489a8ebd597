"""A cluster that changes all the time while decisions are made, each of which is made again afterwards.

Pods are decided about alone, in batches and in groups, with others that make room for them and without.
``python -m tests.decision_journal.churning COUNT SEED`` says how many of COUNT come out as they were noted.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random
from time import process_time
from typing import Any

from mooring.app.options import DecisionOptions
from mooring.cluster.kinds import Put, Remove
from mooring.framework import Node, Pod
from mooring.framework.errors import MooringError
from mooring.framework.objects import (
    GangSchedulingPolicy,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    TopologyConstraint,
)
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.service.decision_differences import differences_of
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.service.backends import Direct, World, sent, world

ZONE = "topology.kubernetes.io/zone"
NODES = 40
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}


def group_of(name: str, min_count: int, *keys: str) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"u-{name}"),
        spec=PodGroupSpec(
            scheduling_policy=PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(min_count)),
            scheduling_constraints=PodGroupSchedulingConstraints(tuple(map(TopologyConstraint, keys))),
        ),
    )


GROUPS = (group_of("any", 2), group_of("most", 4), group_of("zone", 3, ZONE))


def churn(dice: Random, count: int) -> tuple[Counter[str], list[str]]:
    """Make ``count`` decisions at least while the cluster changes, then each of them again.

    Returns:
        How many came out the same, were different or can't be repeated; and what was different.
    """
    ends: Counter[str] = Counter()
    told: list[str] = []
    undo = DecisionOptions(journal=256 << 20, undo=256 << 20)
    nodes = [node_of(dice, at) for at in range(NODES)]
    with world(*nodes, *GROUPS, remembering=undo, gates=GATES, version="1.37") as w:
        servicers = Direct(w.backend)
        assert w.backend.decisions is not None
        journal = w.backend.decisions.journal
        while journal.last < count:
            change(dice, w)
            ask(dice, servicers, journal.last)
        assert w.backend.repeater is not None
        seqs = list(range(1, journal.last + 1))
        for seq in seqs:
            record = journal.find(seq)
            assert record is not None
            try:
                again, _ = w.backend.repeater.repeat(seq, NoDeadline())
            except MooringError as error:
                ends[error.reason] += 1
                told.append(f"{seq} {record.kind.name}: {error.message}")
                continue
            differences = differences_of(record, again)
            ends["different" if differences else "same"] += 1
            if differences:
                told.append(f"{seq} {record.kind.name}: {differences}")
    return ends, told


def node_of(dice: Random, at: int) -> Node:
    taints = [{"key": "k", "effect": "NoSchedule"}] if dice.random() < 0.1 else []
    return make_node(
        f"n{at}",
        labels={ZONE: f"z{at % 3}", "kubernetes.io/hostname": f"n{at}"},
        allocatable={"cpu": str(dice.choice((2, 4, 8))), "memory": "16Gi", "pods": "20"},
        spec={"taints": taints, "unschedulable": dice.random() < 0.05},
    )


def _pod(dice: Random, name: str, **spec: Any) -> Pod:
    app = f"a{dice.randrange(3)}"
    if dice.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    cpu = dice.choice(("100m", "500m", "1", "6", "50"))
    return make_pod(
        name, labels={"app": app}, requests={"cpu": cpu}, metadata={"uid": f"u-{name}"}, spec=spec
    )


def change(dice: Random, w: World) -> None:
    """Let the cluster be another one."""
    way = dice.random()
    if way < 0.4:
        w.state.apply("test", [Put(node_of(dice, dice.randrange(NODES + 5)))])
    elif way < 0.5:
        w.state.apply("test", [Remove("Node", "", f"n{dice.randrange(NODES + 5)}")])
    elif way < 0.8:
        placed = [uid for uid, record in w.state.snapshot.pods.records.items() if record.node_name]
        for uid in dice.sample(placed, min(len(placed), dice.randrange(4))):
            w.state.discard(uid)


def ask(dice: Random, servicers: Direct, number: int, *, groups: bool = True) -> None:
    """Have something decided, and with ``groups`` now and then some of these, which the state must have."""
    seed = dice.randrange(5)
    way = dice.random()
    pod = _pod(dice, f"p{number}")
    template = pb.PodTemplate(pod=sent(pod))
    if way < 0.1:
        servicers.scheduling.Filter(pb.FilterRequest(pod=sent(pod)))
    elif way < 0.4:
        servicers.scheduling.Schedule(pb.ScheduleRequest(templates=[template], seed=seed))
    elif way < 0.6:
        servicers.scheduling.Schedule(
            pb.ScheduleRequest(templates=[template], seed=seed, commit_mode=pb.COMMIT_MODE_RESERVE)
        )
    elif way < 0.65:
        servicers.scheduling.Preempt(pb.PreemptRequest(pod=sent(_pod(dice, f"p{number}", priority=9))))
    elif way < 0.75 and groups:
        _ask_about_groups(dice, servicers, number, seed)
    else:
        names = [f"b{number}-{at}" for at in range(dice.randrange(2, 12))]
        columns = pb.PodColumns(template_indices=[0] * len(names), names=names, uids=names)
        mode = dice.choice((pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_DRY_RUN))
        small = pb.PodTemplate(pod=sent(make_pod("small", requests={"cpu": "50m"})))
        servicers.scheduling.Schedule(
            pb.ScheduleRequest(templates=[small], pods=columns, seed=seed, commit_mode=mode)
        )


def _ask_about_groups(dice: Random, servicers: Direct, number: int, seed: int) -> None:
    """Have some groups decided, the pods of each with those before them in place."""
    groups = []
    for group in dice.sample(GROUPS, dice.randrange(1, 3)):
        name = group.metadata.name
        joined = {"schedulingGroup": {"podGroupName": name}}
        pods = [_pod(dice, f"{name}{number}-{at}", **joined) for at in range(dice.randrange(1, 7))]
        groups.append(pb.GroupToSchedule(namespace="default", name=name, pods=map(sent, pods)))
    mode = dice.choice((pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_DRY_RUN))
    servicers.scheduling.ScheduleGroups(pb.ScheduleGroupsRequest(groups=groups, seed=seed, commit_mode=mode))


if __name__ == "__main__":
    began = process_time()
    ended, different = churn(Random(int(sys.argv[2])), int(sys.argv[1]))
    print(dict(ended), f"{process_time() - began:.1f} s of processor time", *different[:20], sep="\n")
