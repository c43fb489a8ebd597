"""VolumeBinding: bound claims, claims that wait for a node, volumes to match, and room to make new ones."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest
from tests.laboratories.conformance.families.storage import (
    BETA_ZONE,
    BIND_COMPLETED,
    CLASS_ANNOTATION,
    DRIVERS,
    HOSTNAME,
    REGION,
    WAIT,
    ZONE,
    ZONES,
    add,
    bind,
    claim,
    csi_node,
    ephemeral,
    put_in_zones,
    storage_class,
    use,
    volume,
)

CLASSES = ["bind-csi", "bind-local", "bind-topology"]
SCORED_SINCE = "1.37"
"""The first release in which the room on nodes is scored by default."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
FAST = "fast"


def bound_claims(draft: Draft) -> None:
    """Claims that have their volumes, which not every node reaches; some volumes are of kinds of old."""
    put_in_zones(draft)
    _scene(draft)
    for node in draft.nodes:
        if draft.chance(0.8):
            plugins = draft.some(
                ["kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", "kubernetes.io/cinder"], 0, 3
            )
            csi_node(draft, node, [], ",".join(plugins))
            _add_driver_topology(draft, node)
    for _ in range(draft.rng.randint(1, 3)):
        wanted = _claim(draft)
        source = _migratable(draft) if draft.chance(0.3) else None
        given = volume(draft, source, **_affinity(draft))
        if draft.chance(0.3):
            given["metadata"]["labels"] = {
                draft.rng.choice([ZONE, BETA_ZONE]): "__".join(draft.some(ZONES, 1, 2))
            }
        bind(wanted, given)
        if draft.chance(0.05):
            wanted["spec"]["volumeName"] = "volume-that-is-gone"
        use(draft.pod, wanted["metadata"]["name"])
    _trouble(draft)


def waiting_claims(draft: Draft) -> None:
    """Claims to be matched with volumes, or to have them made, for the node that is chosen."""
    put_in_zones(draft)
    _scene(draft)
    for _ in range(draft.rng.randint(0, 8)):
        _available(draft)
    wanted = [_claim(draft) for _ in range(draft.rng.randint(1, 3))]
    for item in wanted:
        _keep_one_for(draft, item)
        use(draft.pod, item["metadata"]["name"])
    if draft.chance(0.05):
        use(draft.pod, wanted[0]["metadata"]["name"])
    if draft.chance(0.2):
        ephemeral(draft, draft.pod, draft.rng.choice(CLASSES))
    if draft.chance(0.2):
        other = _claim(draft)
        bind(other, volume(draft, None, **_affinity(draft)))
        use(draft.pod, other["metadata"]["name"])
    if draft.chance(0.05):
        draft.gates["StorageCapacityScoring"] = False
    _trouble(draft)


def _scene(draft: Draft) -> None:
    driver = DRIVERS[0]
    topologies = [{"matchLabelExpressions": [_topology(draft) for _ in range(draft.rng.choice([1, 1, 2]))]}]
    if draft.chance(0.3):
        topologies.append({"matchLabelExpressions": [_topology(draft)]})
    storage_class(draft, "bind-csi", driver)
    storage_class(draft, "bind-local", "kubernetes.io/no-provisioner")
    storage_class(draft, "bind-topology", driver, allowedTopologies=topologies)
    storage_class(draft, "bind-now", driver, volumeBindingMode="Immediate")
    if draft.chance(0.7):
        spec = {"storageCapacity": draft.chance(0.8)}
        add(
            draft,
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": driver},
                "spec": spec,
            },
        )
    for number in range(draft.rng.randint(0, 5)):
        _report(draft, number)


def _topology(draft: Draft) -> Manifest:
    key, values = draft.rng.choice([(ZONE, ZONES), (REGION, ["us-east1", "us-west1"])])
    return {"key": key, "values": draft.some(values, 1, 2)}


def _report(draft: Draft, number: int) -> None:
    """Room for a class on some nodes."""
    sizes = ["0", "1Gi", "1400Mi", "2Gi", "10Gi"]
    report: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"room-{number}", "namespace": draft.rng.choice(["default", "kube-system"])},
        "storageClassName": draft.rng.choice(["bind-csi", "bind-csi", "bind-topology", "other"]),
    }
    if draft.chance(0.9):
        report["capacity"] = draft.rng.choice(sizes)
    if draft.chance(0.3):
        report["maximumVolumeSize"] = draft.rng.choice(sizes)
        if draft.version >= SCORED_SINCE:
            # kube-scheduler reads it of any report with a largest volume to score it, and ends without one.
            report.setdefault("capacity", report["maximumVolumeSize"])
    if draft.chance(0.9):
        report["nodeTopology"] = _selector(draft, [(ZONE, ZONES), (HOSTNAME, _node_names(draft))])
    add(draft, report)


def _selector(draft: Draft, choices: list[tuple[str, list[str]]]) -> Manifest:
    key, values = draft.rng.choice(choices)
    some = draft.some(values, 1, 2)
    return draft.rng.choice(
        [
            {},
            {"matchLabels": {key: some[0]}},
            {"matchLabels": {key: some[0]}},
            {"matchExpressions": [{"key": key, "operator": "In", "values": some}]},
            {"matchExpressions": [{"key": key, "operator": "NotIn", "values": some}]},
            {"matchExpressions": [{"key": key, "operator": draft.rng.choice(["Exists", "DoesNotExist"])}]},
        ]
    )


def _node_names(draft: Draft) -> list[str]:
    return [node["metadata"]["name"] for node in draft.nodes]


def _affinity(draft: Draft) -> Manifest:
    if draft.chance(0.25):
        return {}
    terms = [_term(draft) for _ in range(draft.rng.choice([1, 1, 1, 2]))]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def _term(draft: Draft) -> Manifest:
    names = draft.some(_node_names(draft), 1, 3)
    zones = {
        "key": draft.rng.choice([ZONE, ZONE, BETA_ZONE]),
        "operator": "In",
        "values": draft.some(ZONES, 1, 2),
    }
    term: Manifest = draft.rng.choice(
        [
            {"matchExpressions": [zones]},
            {"matchExpressions": [zones]},
            {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": names}]},
            {"matchExpressions": [{"key": HOSTNAME, "operator": "NotIn", "values": names}, zones]},
            {"matchExpressions": [{"key": REGION, "operator": draft.rng.choice(["Exists", "DoesNotExist"])}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": names[:1]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": names[:1]}]},
        ]
    )
    if draft.chance(0.1):
        term["matchFields"] = [{"key": "metadata.name", "operator": "NotIn", "values": names[:1]}]
    return term


def _add_driver_topology(draft: Draft, node: Manifest) -> None:
    """Add the labels of zones that CSI drivers use; as a rule the same zones."""
    zone = node["metadata"]["labels"].get(ZONE, draft.rng.choice(ZONES))
    for key in (
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.cinder.csi.openstack.org/zone",
    ):
        if draft.chance(0.7):
            node["metadata"]["labels"][key] = zone if draft.chance(0.9) else draft.rng.choice(ZONES)


def _migratable(draft: Draft) -> Manifest:
    disk_id = draft.rng.choice(["vol-1", "vol-1", "vol-1", "aws://us-east1-a/vol-2", "aws://us-east1-a/2"])
    return draft.rng.choice(
        [
            {"gcePersistentDisk": {"pdName": "disk"}},
            {"awsElasticBlockStore": {"volumeID": disk_id}},
            {"cinder": {"volumeID": "id"}},
        ]
    )


def _claim(draft: Draft) -> Manifest:
    wanted = claim(draft, draft.pod["metadata"]["namespace"], storageClassName=draft.rng.choice(CLASSES))
    spec, metadata = wanted["spec"], wanted["metadata"]
    if draft.chance(0.15):
        spec["selector"] = _selector(draft, [("speed", [FAST, "slow"])])
    if draft.chance(0.1):
        spec["volumeMode"] = draft.rng.choice(["Block", "Filesystem"])
    if draft.chance(0.05):
        spec["volumeAttributesClassName"] = draft.rng.choice(["gold", "silver"])
    if draft.chance(0.1):
        metadata.setdefault("annotations", {})[SELECTED_NODE] = draft.rng.choice(
            [*_node_names(draft), "gone"]
        )
    if draft.chance(0.05):
        metadata.setdefault("annotations", {})[CLASS_ANNOTATION] = draft.rng.choice(CLASSES)
    return wanted


def _available(draft: Draft) -> Manifest:
    given = volume(draft, None, storageClassName=draft.rng.choice(CLASSES), **_affinity(draft))
    if draft.chance(0.4):
        given["metadata"]["labels"] = {"speed": draft.rng.choice([FAST, "slow"])}
    if draft.chance(0.1):
        given["spec"]["volumeMode"] = draft.rng.choice(["Block", "Filesystem"])
    if draft.chance(0.1):
        given["spec"]["volumeAttributesClassName"] = draft.rng.choice(["gold", "silver"])
    if draft.chance(0.1):
        given["status"]["phase"] = draft.rng.choice(["Pending", "Released", "Failed", "Bound"])
    if draft.chance(0.05):
        given["metadata"]["annotations"] = {CLASS_ANNOTATION: draft.rng.choice(CLASSES)}
    if draft.chance(0.05):
        given["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return given


def _keep_one_for(draft: Draft, wanted: Manifest) -> None:
    """At most one volume is kept for a claim: kube-scheduler takes any one of several."""
    if not draft.chance(0.25):
        return
    given = _available(draft)
    if draft.chance(0.8):
        given["spec"]["storageClassName"] = wanted["spec"]["storageClassName"]
    metadata = wanted["metadata"]
    given["spec"]["claimRef"] = {"namespace": metadata["namespace"], "name": metadata["name"]}
    if draft.chance(0.7):
        given["spec"]["claimRef"]["uid"] = draft.rng.choice([metadata["uid"], metadata["uid"], "uid-of-old"])


def _trouble(draft: Draft) -> None:
    """Now and then a claim that keeps the pod from every node."""
    claims = [item for item in draft.objects if item["kind"] == "PersistentVolumeClaim"]
    if not claims or not draft.chance(0.25):
        return
    hit = draft.rng.choice(claims)
    match draft.rng.randint(0, 7):
        case 0:
            hit["status"]["phase"] = "Lost"
        case 1:
            hit["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        case 2:
            hit["spec"]["storageClassName"] = draft.rng.choice(["bind-now", "gone", ""])
        case 3:
            hit["spec"].pop("storageClassName", None)
        case 4:
            hit["metadata"].get("annotations", {}).pop(BIND_COMPLETED, None)
        case 5:
            hit["spec"]["volumeName"] = "volume-that-is-gone"
        case 6:
            draft.objects.remove(hit)
        case 7:
            hit["spec"]["accessModes"] = ["ReadWriteOncePod"]


__all__ = ["WAIT", "bound_claims", "waiting_claims"]
