"""VolumeRestrictions, NodeVolumeLimits and VolumeZone: disks in pods, drivers' limits, volumes in zones."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest
from tests.laboratories.conformance.families.storage import (
    BETA_REGION,
    BETA_ZONE,
    DRIVERS,
    REGION,
    WAIT,
    ZONE,
    ZONES,
    add,
    bind,
    claim,
    csi_node,
    ephemeral,
    mount,
    put_in_zones,
    storage_class,
    use,
    volume,
)

MONITORS = ["10.0.0.1:6789", "10.0.0.2:6789", "10.0.0.3:6789"]
PLUGINS = ["aws-ebs", "gce-pd", "cinder", "azure-disk", "portworx-volume", "azure-file", "vsphere-volume"]
CSI_DRIVERS = [*DRIVERS, "ebs.csi.aws.com", "pd.csi.storage.gke.io", "cinder.csi.openstack.org"]


def volume_restrictions(draft: Draft) -> None:
    """A few disks, and claims of one pod alone, wanted by several pods."""
    for pod in draft.pods():
        for _ in range(draft.rng.choice([0, 1, 1, 2])):
            mount(pod, _disk(draft))
    if draft.chance(0.5):
        _claims_of_one(draft)
    if draft.chance(0.05):
        use(draft.pod, "claim-that-is-gone")


def _claims_of_one(draft: Draft) -> None:
    """Claims for one pod alone and for many, most of them with a volume; some users are important."""
    own = {name: claim(draft, name, accessModes=["ReadWriteOncePod"]) for name in _namespaces(draft)}
    shared = {name: claim(draft, name) for name in own}
    for wanted in [*own.values(), *shared.values()]:
        if draft.chance(0.95):
            bind(wanted, volume(draft))
    rank = draft.chance(0.4)
    for pod in draft.pods():
        if rank:
            pod["spec"]["priority"] = draft.rng.choice([0, 5, 10])
        if draft.chance(0.7 if pod is draft.pod else 0.25):
            for kind in draft.some([own, own, shared], 1, 2):
                use(pod, kind[pod["metadata"]["namespace"]]["metadata"]["name"])


def _namespaces(draft: Draft) -> list[str]:
    return sorted({pod["metadata"]["namespace"] for pod in draft.pods()})


def _disk(draft: Draft) -> Manifest:
    read_only = draft.chance(0.5)
    number = draft.rng.randint(0, 2)
    return draft.rng.choice(
        [
            {"gcePersistentDisk": {"pdName": f"disk-{number}", "readOnly": read_only}},
            {"awsElasticBlockStore": {"volumeID": f"vol-{number}", "readOnly": read_only}},
            {
                "iscsi": {
                    "targetPortal": draft.rng.choice(MONITORS),
                    "iqn": f"iqn.2026-01.com.example:{number}",
                    "lun": 0,
                    "readOnly": read_only,
                }
            },
            {
                "rbd": {
                    "monitors": draft.some(MONITORS, 1, 2),
                    "image": f"image-{number % 2}",
                    "readOnly": read_only,
                }
                | ({"pool": "fast"} if draft.chance(0.3) else {})
            },
            {"emptyDir": {}},
        ]
    )


def node_volume_limits(draft: Draft) -> None:
    """Nodes with small limits, and pods that share some volumes and bring others."""
    storage_class(draft, "limits-csi", draft.rng.choice(DRIVERS))
    storage_class(draft, "limits-gce", "kubernetes.io/gce-pd")
    storage_class(draft, "limits-file", "kubernetes.io/azure-file", volumeBindingMode="Immediate")
    if draft.version >= "1.35" and draft.chance(0.1):
        draft.gates["VolumeLimitScaling"] = draft.chance(0.9)
    for node in draft.nodes:
        if draft.chance(0.9):
            drivers = [_limited(draft, name) for name in draft.some(CSI_DRIVERS, 0, len(CSI_DRIVERS))]
            csi_node(draft, node, drivers)
    shared = {name: [_limited_claim(draft, name) for _ in range(4)] for name in _namespaces(draft)}
    for pod in [draft.pod, *draft.rng.sample(draft.assigned, len(draft.assigned) // 2), *draft.nominated]:
        for _ in range(draft.rng.choice([1, 1, 2, 3])):
            _attach(draft, pod, shared[pod["metadata"]["namespace"]])
    for name in draft.some(DRIVERS, 0, 2):
        old = draft.version < "1.36" or draft.chance(0.3)
        spec = {} if old else {"preventPodSchedulingIfMissing": draft.chance(0.5)}
        add(draft, _driver(name, spec))
    for number, held in enumerate([item for item in draft.objects if item["kind"] == "PersistentVolume"]):
        if draft.chance(0.3) and draft.nodes:
            _attachment(draft, f"attachment-{number}", held)


def _driver(name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": spec,
    }


def _limited(draft: Draft, name: str) -> Manifest:
    driver: Manifest = {"name": name, "nodeID": "id", "topologyKeys": []}
    if draft.chance(0.85):
        driver["allocatable"] = {"count": draft.rng.choice([0, 1, 2, 2, 3, 39])}
    elif draft.chance(0.5):
        driver["allocatable"] = {}
    return driver


def _limited_claim(draft: Draft, namespace: str) -> str:
    rarely = draft.rng.choice(["limits-file", "gone", ""])
    class_name = rarely if draft.chance(0.1) else draft.rng.choice(["limits-csi", "limits-csi", "limits-gce"])
    wanted = claim(draft, namespace, storageClassName=class_name)
    if draft.chance(0.7):
        bind(wanted, volume(draft, _source(draft) if draft.chance(0.4) else None))
    elif draft.chance(0.1):
        wanted["spec"]["volumeName"] = "volume-that-is-gone"
    return str(wanted["metadata"]["name"])


def _source(draft: Draft) -> Manifest:
    """Return a volume of a kind of old, for a persistent volume."""
    number = draft.rng.randint(0, 2)
    kind = draft.rng.choice(["Managed", "Managed", "Dedicated", "Shared"])
    sources: list[Manifest] = [
        {"gcePersistentDisk": {"pdName": f"disk-{number}"}},
        {
            "awsElasticBlockStore": {
                "volumeID": draft.rng.choice([f"vol-{number}", f"aws://z/vol-{number}", "aws://z"])
            }
        },
        {"cinder": {"volumeID": f"id-{number}"}},
        {"azureDisk": {"diskName": "d", "diskURI": _disk_uri(kind, number), "kind": kind}},
        {"azureFile": {"secretName": "s", "shareName": "f", "secretNamespace": "default"}},
        {"vsphereVolume": {"volumePath": f"[ds] {number}"}},
        {"portworxVolume": {"volumeID": f"px-{number}"}},
        {"nfs": {"server": "nfs.example.com", "path": "/"}},
    ]
    return draft.rng.choice(sources)


def _disk_uri(kind: str, number: int) -> str:
    """Return a URI that the API server accepts for the kind of Azure disk."""
    if kind == "Managed":
        return f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/{number}"
    return f"https://account.blob.core.windows.net/vhds/{number}.vhd"


def _inline(draft: Draft) -> Manifest:
    source = _source(draft)
    if "azureFile" in source:
        del source["azureFile"]["secretNamespace"]
    if draft.chance(0.95) and "azureDisk" in source:
        source["azureDisk"] |= {"kind": "Managed", "diskURI": _disk_uri("Managed", 1)}
    if draft.chance(0.95) and source.get("awsElasticBlockStore", {}).get("volumeID") == "aws://z":
        source["awsElasticBlockStore"]["volumeID"] = "vol-9"
    return source


def _attach(draft: Draft, pod: Manifest, shared: list[str]) -> None:
    if draft.chance(0.6):
        use(pod, draft.rng.choice(shared))
    elif draft.chance(0.5):
        made = ephemeral(draft, pod, "limits-csi")
        if made is not None and draft.chance(0.5):
            bind(made, volume(draft))
    elif draft.chance(0.1):
        use(pod, "claim-that-is-gone")
    else:
        mount(pod, _inline(draft))


def _attachment(draft: Draft, name: str, held: Manifest) -> None:
    driver = held["spec"].get("csi", {}).get("driver", DRIVERS[0])
    pv_name = held["metadata"]["name"] if draft.chance(0.95) else "volume-that-is-gone"
    manifest: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {
            "attacher": driver if draft.chance(0.9) else DRIVERS[1],
            "nodeName": draft.rng.choice(draft.nodes)["metadata"]["name"],
            "source": {"persistentVolumeName": pv_name},
        },
    }
    add(draft, manifest)


def volume_zone(draft: Draft) -> None:
    """Bound volumes with labels of zones and regions, of today and of old, single ones and lists."""
    put_in_zones(draft)
    storage_class(draft, "zone-wait", DRIVERS[0], volumeBindingMode=WAIT)
    storage_class(draft, "zone-now", DRIVERS[0], volumeBindingMode="Immediate")
    namespace = draft.pod["metadata"]["namespace"]
    for _ in range(draft.rng.randint(1, 3)):
        wanted = claim(draft, namespace, storageClassName="zone-wait")
        use(draft.pod, wanted["metadata"]["name"])
        if draft.chance(0.9):
            labels = {
                key: _label(draft, key) for key in draft.some([ZONE, REGION, BETA_ZONE, BETA_REGION], 0, 2)
            }
            given = volume(draft)
            given["metadata"]["labels"] = labels
            bind(wanted, given)
        if draft.chance(0.04):
            wanted["spec"]["volumeName"] = "volume-that-is-gone"
        elif draft.chance(0.06):
            wanted["spec"]["storageClassName"] = draft.rng.choice(["zone-now", "gone", ""])
    if draft.chance(0.03):
        use(draft.pod, "claim-that-is-gone")


def _label(draft: Draft, key: str) -> str:
    """Some values are lists; an empty part in one makes kube-scheduler leave the label out."""
    if key in (REGION, BETA_REGION):
        return draft.rng.choice(["us-east1", "us-east1", "us-west1", "us-east1__us-west1"])
    zones = draft.some(ZONES, 1, 3)
    if draft.chance(0.05):
        zones.append("")
    return "__".join(zones)
