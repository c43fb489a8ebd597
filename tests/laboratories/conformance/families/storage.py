"""Storage objects for scenarios: classes, volumes, claims, and the volumes of pods that use them."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
HOSTNAME = "kubernetes.io/hostname"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
ZONES = ["us-east1-a", "us-east1-b", "us-west1-a"]
DRIVERS = ["csi.example.com", "disk.example.com"]
MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]
WAIT = "WaitForFirstConsumer"


def add(draft: Draft, manifest: Manifest) -> Manifest:
    """Return the object of that kind and name, which is the given one unless another family was first."""
    for known in draft.objects:
        if known["kind"] == manifest["kind"] and _key(known) == _key(manifest):
            return known
    draft.objects.append(manifest)
    return manifest


def _key(manifest: Manifest) -> tuple[str, str]:
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def unused(draft: Draft, stem: str) -> str:
    """Return a name that no object has."""
    return f"{stem}-{len(draft.objects):03d}"


def put_in_zones(draft: Draft) -> None:
    """Nodes get zones and regions: by today's labels, by those of old, by both, or none."""
    for node in draft.nodes:
        zone = draft.rng.choice(ZONES)
        labels = node["metadata"].setdefault("labels", {})
        for keys, probability in (((ZONE, REGION), 0.8), ((BETA_ZONE, BETA_REGION), 0.3)):
            if draft.chance(probability):
                labels[keys[0]] = zone
            if draft.chance(probability / 2):
                labels[keys[1]] = zone[:-2]


def storage_class(draft: Draft, name: str, provisioner: str, **fields: object) -> str:
    manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": WAIT,
        **fields,
    }
    add(draft, manifest)
    return name


def claim(draft: Draft, namespace: str, name: str | None = None, **spec: object) -> Manifest:
    name = name or unused(draft, "claim")
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
        "spec": {
            "accessModes": [draft.rng.choice(MODES[:2])],
            "resources": {"requests": {"storage": draft.rng.choice(["1Gi", "1500Mi", "2Gi", "3G", "5Gi"])}},
            **spec,
        },
        "status": {"phase": "Bound" if "volumeName" in spec else "Pending"},
    }
    return add(draft, manifest)


def volume(draft: Draft, source: Manifest | None = None, **spec: object) -> Manifest:
    """Return a volume of a size that no other volume has, as kube-scheduler takes any of those of
    one size.
    """
    name = unused(draft, "volume")
    handle = {"csi": {"driver": draft.rng.choice(DRIVERS), "volumeHandle": f"handle-{name}"}}
    sizes = sum(known["kind"] == "PersistentVolume" for known in draft.objects)
    order = [3, 1, 4, 0, 2][sizes % 5] + sizes // 5 * 5
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "accessModes": draft.some(MODES, 1, 3),
            "capacity": {"storage": f"{900 + 700 * order}Mi"},
            **(handle if source is None else source),
            **spec,
        },
        "status": {"phase": "Available"},
    }
    return add(draft, manifest)


def bind(wanted: Manifest, given: Manifest) -> None:
    """The claim and the volume belong to each other."""
    wanted["spec"]["volumeName"] = given["metadata"]["name"]
    wanted["metadata"].setdefault("annotations", {})[BIND_COMPLETED] = "yes"
    wanted["status"]["phase"] = "Bound"
    metadata = wanted["metadata"]
    given["spec"]["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    given["status"]["phase"] = "Bound"


def use(pod: Manifest, wanted: str, **fields: object) -> None:
    mount(pod, {"persistentVolumeClaim": {"claimName": wanted, **fields}})


def mount(pod: Manifest, source: Manifest) -> str:
    """Give the pod one more volume, and return the volume's name."""
    volumes = pod["spec"].setdefault("volumes", [])
    name = f"v{len(volumes)}"
    volumes.append({"name": name, **source})
    return name


def ephemeral(draft: Draft, pod: Manifest, class_name: str | None = None) -> Manifest | None:
    """Give the pod a volume of its own; the claim is sometimes missing, or another's."""
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if class_name is not None:
        spec["storageClassName"] = class_name
    name = mount(pod, {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
    metadata = pod["metadata"]
    if draft.chance(0.1):
        return None
    made = claim(draft, metadata["namespace"], f"{metadata['name']}-{name}", **spec)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    if draft.chance(0.05):
        owner["uid"] = "uid-of-another"
    made["metadata"]["ownerReferences"] = [{**owner, "controller": draft.chance(0.97)}]
    return made


def csi_node(draft: Draft, node: Manifest, drivers: list[Manifest], migrated: str = "") -> Manifest:
    name = node["metadata"]["name"]
    manifest: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }
    if migrated:
        manifest["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    return add(draft, manifest)
