"""Every RPC's bytes: the name of the RPC, a line feed, the request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from random import Random

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message

from mooring.framework import Pod
from mooring.testing import make_node, make_pod
from mooring.testing.builders import to_json
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import simulation_service_pb2 as simulation_pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from mooring_client.v1.verdicts_pb2 import PluginScores
from tests.laboratories.fuzz.judging import Judge, Target
from tests.laboratories.fuzz.mutating import change_message, changed_bytes, changed_json
from tests.laboratories.fuzz.serving import HOST, METHODS, OBJECTS, SESSION, ZONE, Served, kind_of, serving

SPEC = {
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]},
                }
            ]
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "a1"}}}
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a0"}},
        }
    ],
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "nodeSelector": {ZONE: "z0"},
}


def pods() -> list[Pod]:
    """Return a plain one, one that is choosy, and one that wants storage and devices."""
    claims = [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]
    devices = {"resourceClaims": [{"name": "r", "resourceClaimName": "claim"}], "volumes": claims}
    return [
        make_pod("asked", labels={"app": "a0"}, requests={"cpu": "1"}, metadata={"uid": "ua"}),
        make_pod("choosy", labels={"app": "a0"}, metadata={"uid": "ub"}, spec=SPEC),
        make_pod("claiming", metadata={"uid": "uc"}, spec=devices),
        make_pod("urgent", requests={"cpu": "4"}, metadata={"uid": "ud"}, spec={"priority": 1000}),
    ]


@cache
def seeds() -> tuple[bytes, ...]:
    """Return each RPC in several forms."""
    sources = [PodSource(object=KubernetesObject(json=to_json(pod))) for pod in pods()]
    for file in sorted(OBJECTS.glob("pod-*.json")):
        sources.append(PodSource(object=KubernetesObject(json=file.read_bytes())))
        sources.append(PodSource(object=KubernetesObject(protobuf=file.with_suffix(".k8s.pb").read_bytes())))
    sources.append(PodSource(reference=PodReference(namespace="default", name="p8", uid="u8")))
    names = nodes_pb.NodeSelection(names=nodes_pb.NodeNames(names=["n0", "n2", "n9"]))
    inline = nodes_pb.InlineNodes(
        nodes=[KubernetesObject(json=to_json(make_node("n1", labels={ZONE: "z1"})))]
    )
    selections = [
        nodes_pb.NodeSelection(),
        names,
        nodes_pb.NodeSelection(joined_names=b"n0\0n5"),
        nodes_pb.NodeSelection(inline=inline),
        nodes_pb.NodeSelection(indices=nodes_pb.NodeIndices(node_epoch=1, indices=[0, 3])),
        nodes_pb.NodeSelection(bitmap=nodes_pb.NodeBitmap(node_epoch=1, bits=b"\x07")),
    ]
    found: list[Message] = []
    for source in sources:
        for selection in selections:
            found.append(pb.FilterRequest(pod=source, nodes=selection, include_totals=True))
            found.append(pb.ScoreRequest(pod=source, nodes=selection, include_totals=True))
            found.append(pb.FilterStreamRequest(request=pb.FilterRequest(pod=source, nodes=selection)))
        raw = [
            PluginScores(plugin="NodeResourcesFit", raw=[1, 2]),
            PluginScores(plugin="ImageLocality", raw=[0, 9]),
        ]
        two = nodes_pb.NodeSelection(names=nodes_pb.NodeNames(names=["n0", "n2"]))
        found.append(pb.NormalizeScoreRequest(pod=source, nodes=two, plugins=raw))
        found.append(pb.ExplainRequest(pod=source, nodes=names, seed=3, always_score=True))
        template = pb.PodTemplate(pod=source)
        found.append(pb.ScheduleRequest(templates=[template], seed=1, include_ties=True))
        found.append(pb.ScheduleRequest(templates=[template], commit_mode=pb.COMMIT_MODE_RESERVE))
        found.append(pb.ReserveRequest(pod=source, node="n1"))
        victims = [PodSource(reference=PodReference(namespace="default", name="p0", uid="u0"))]
        candidates = [pb.PreemptionCandidate(node="n0", victims=victims)]
        found.append(pb.PreemptRequest(pod=source, candidates=pb.PreemptionCandidates(candidates=candidates)))
        found.append(pb.PreemptRequest(pod=source))
        found.append(pb.FilterRequest(pod=source, session=SESSION))
        placed = pb.COMMIT_MODE_RESERVE
        found.append(pb.ScheduleRequest(templates=[template], commit_mode=placed, session=SESSION))
        found.append(simulation_pb.EstimateCapacityRequest(shapes=[source], limit=5, include_nodes=True))
    reference = PodReference(namespace="default", name="p9", uid="u9")
    found += [pb.BindRequest(pod=reference, node="n1"), pb.UnreserveRequest(pod=reference)]
    found += [pb.UnreserveManyRequest(uids=["u9", "ua"]), pb.UnreserveManyRequest(all=True)]
    found.append(pb.ListReservationsRequest(page_size=1))
    found += [cluster_pb.ListNodesRequest(form=form, since_epoch=0) for form in nodes_pb.NodeForm.values()]
    found += [cluster_pb.WatchNodesRequest(form=form, since_epoch=1) for form in nodes_pb.NodeForm.values()]
    found.append(cluster_pb.ListNodesRequest(include_usage=True, page_size=2))
    found.append(cluster_pb.ListPendingPodsRequest(namespace="default"))
    found.append(cluster_pb.ListPodsRequest(node="n1", placed=True, page_size=1, skip=1))
    found += [
        cluster_pb.GetObjectRequest(kind=kind, namespace="default", name="p9") for kind in ("Node", "Pod")
    ]
    found += _pushes()
    found += _simulations()
    found += _decisions()
    empty = [name.encode() + b"\n" for name in METHODS]
    return (*map(_named, found), *empty)


def _named(request: Message) -> bytes:
    name = str(request.DESCRIPTOR.name).removesuffix("Request")
    return name.encode() + b"\n" + request.SerializeToString()


def _pushes() -> list[cluster_pb.PushObjectsRequest]:
    files = sorted(OBJECTS.glob("*-full.json"))
    put = [
        cluster_pb.PutObjects(kind=kind, objects=[encoded])
        for file in files
        for kind, encoded in (
            (kind_of(file), KubernetesObject(json=file.read_bytes())),
            (kind_of(file), KubernetesObject(protobuf=file.with_suffix(".k8s.pb").read_bytes())),
        )
    ]
    removed = cluster_pb.RemoveObject(kind="Pod", namespace="default", name="p0")
    events = [*(cluster_pb.PushEvent(put=one) for one in put), cluster_pb.PushEvent(remove=removed)]
    push = partial(cluster_pb.PushObjectsRequest, source="cluster", session="s", first_sequence=40)
    return [push(events=[event]) for event in events]


def _decisions() -> list[Message]:
    """Questions about decisions; there are some, since others of the seeds are made before."""
    where = decision_pb.DecisionFilter(
        namespace="default",
        kinds=[decision_pb.DECISION_KIND_SCHEDULE, decision_pb.DECISION_KIND_DRY_RUN],
        results=[decision_pb.DECISION_RESULT_UNSCHEDULABLE],
        rejecting_plugin="P",
        label_selector="app in (a, b),!old",
    )
    return [
        decision_pb.ListDecisionsRequest(filter=where, after_seq=0, limit=5),
        decision_pb.ListDecisionsRequest(before_seq=7),
        decision_pb.WatchDecisionsRequest(filter=where, after_seq=0),
        decision_pb.WatchDecisionsRequest(after_seq=3, journal_id="another"),
        decision_pb.GetDecisionRequest(seq=1),
        decision_pb.ExplainAtRequest(seq=1, all_rejections=True),
        decision_pb.SummarizeReasonsRequest(window=Duration(seconds=60), namespace="default"),
        decision_pb.CompareDecisionsRequest(first_seq=1, second_seq=2, limit=3),
        decision_pb.GetPodHistoryRequest(namespace="default", name="p0"),
        decision_pb.GetTimeLineRequest(window=Duration(seconds=60), span_count=3),
        decision_pb.ListQueueRequest(namespace="default", places=[decision_pb.QUEUE_PLACE_ACTIVE], limit=2),
    ]


def _simulations() -> list[Message]:
    node = KubernetesObject(json=to_json(make_node("n7", labels={ZONE: "z1"})))
    put = simulation_pb.SessionChange(put=cluster_pb.PutObjects(kind="Node", objects=[node]))
    removals = [
        cluster_pb.RemoveObject(kind="Node", name="n5"),
        cluster_pb.RemoveObject(kind="Pod", name="p0"),
    ]
    gone = [simulation_pb.SessionChange(remove=removal) for removal in removals]
    return [
        *(simulation_pb.ChangeSessionRequest(session=SESSION, changes=[one]) for one in (put, *gone)),
        simulation_pb.MarkSessionRequest(session=SESSION),
        simulation_pb.RevertSessionRequest(session=SESSION),
        simulation_pb.RevertSessionRequest(session=SESSION, mark=1),
        simulation_pb.CommitSessionRequest(session=SESSION, mark=1),
        simulation_pb.GetSessionRequest(session=SESSION),
        simulation_pb.OpenSessionRequest(from_session=SESSION),
        simulation_pb.PlanRemovalRequest(nodes=["n0", "n1"], cumulative=True),
        simulation_pb.PlanRemovalRequest(session=SESSION),
        simulation_pb.AssignBlameRequest(
            pod=PodSource(reference=PodReference(namespace="default", name="p0")), node="n1", most=2
        ),
    ]


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return another request of the same RPC, mostly one that can be parsed."""
    head, _, body = data.partition(b"\n")
    name = head.decode(errors="replace")
    if name not in METHODS or dice.random() < 0.02:
        name = dice.choice(list(METHODS))
    if dice.random() < 0.85:
        try:
            message = METHODS[name][1].FromString(body)
            change_message(dice, message, _some_bytes)
            body = message.SerializeToString()
        except (DecodeError, ValueError, TypeError):
            # A text that protobuf rejects, or a body that was not a request.
            body = changed_bytes(dice, body, others)
    else:
        body = changed_bytes(dice, body, others)
    return name.encode() + b"\n" + body


def _some_bytes(dice: Random, name: str, held: bytes) -> bytes:
    if name == "json":
        return changed_json(dice, held, _objects("*.json"))
    if name == "protobuf":
        return changed_bytes(dice, held, _objects("*.pb"))
    return changed_bytes(dice, held, [b"n0\0n1\0n9", b"\xff" * 40])


@cache
def _objects(pattern: str) -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted(OBJECTS.glob(pattern)))


MAX_PODS = 400
"""Pods after which a state is put aside, as calls about it take longer and longer."""


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a server, and another one as soon as it has no cluster that it could decide about."""
    with ExitStack() as stack:
        served: list[Served] = []

        def renew() -> None:
            stack.close()
            served[:] = [stack.enter_context(serving())]

        def judge(data: bytes) -> bool:
            if not served or not served[0].synced or len(served[0].world.state.snapshot.pods) > MAX_PODS:
                renew()
            head, _, body = data.partition(b"\n")
            name = head.decode(errors="replace")
            if name not in METHODS:
                return False
            body = _in_order(served[0], name, body)
            return served[0].take(name, body) is not None

        yield judge


def _in_order(served: Served, name: str, body: bytes) -> bytes:
    """A push continues where its source stands, so that it isn't rejected for its number alone."""
    if name == "PushObjects" and b"cluster" in body[:16]:
        source = next((one for one in served.world.backend.sources() if one.name == "cluster"), None)
        number = cluster_pb.PushObjectsRequest(first_sequence=source.next_sequence if source else 1)
        return body + number.SerializeToString()
    return body


TARGET = Target("rpcs", "every RPC's bytes", seeds, change, judging)
