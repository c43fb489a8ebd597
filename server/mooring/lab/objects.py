"""Clusters to begin with, and nodes and pods for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mooring.app.offline import manifests_of
from mooring.app.options import EngineOptions
from mooring.app.sources import api_server_to_read
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.manifests import objects_from
from mooring.cluster.sources import sample_objects
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.lab.cluster import Cluster, Config
from mooring.recordings.playback import Moment

Manifest = dict[str, Any]

ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110"}
"""The allocatable amounts of a node unless others are given."""


def load(
    *paths: str | Path,
    objects: Iterable[Mapping[str, Any]] = (),
    kubeconfig: str | Path | None = None,
    recording: str | Path | None = None,
    at: str = "",
    config: Config = None,
    kube_version: str = DEFAULT_KUBE_VERSION,
    feature_gates: Mapping[str, bool] | None = None,
) -> Cluster:
    """Load a cluster: of files, live or recorded, and whatever of these is given together.

    Args:
        paths: Files and folders of manifests, YAML or JSON, such as
            ``kubectl get nodes,pods,pv,pvc,storageclasses -A -o json`` writes.
        objects: Additional manifests, parsed to dicts.
        kubeconfig: The live cluster of this file, which is read once; "" = that of the pod that this runs in,
            else of kubectl's own file.
        recording: The folder of a recording.
        at: The moment of the recording, such as ``2026-11-24T12:00:00Z``; "" = its end.
        config: The configuration that decides.
        kube_version: The release that is followed.
        feature_gates: Gates that differ from its defaults.

    Raises:
        InvalidArgumentError: A manifest can't be used, with every fault, or a kubeconfig, or a time.
        MooringError: The API server doesn't say what there is, or the recording can't be read.
    """
    options = EngineOptions(kube_version=kube_version, feature_gates=feature_gates or {})
    loaded: list[ClusterObject] = []
    if paths:
        loaded += manifests_of(paths, options.gates).objects
    if kubeconfig is not None:
        loaded += manifests_of(api_server_to_read(str(kubeconfig)), options.gates).objects
    if recording is not None:
        loaded += manifests_of(Moment.at(Path(recording), at), options.gates).objects
    loaded += objects_from(objects, options.gates, settled=True).objects
    return Cluster(loaded, options, config)


def sample() -> Cluster:
    """Return the cluster of ``mooring run``: six nodes in three zones, some pods placed, three pending."""
    return Cluster(sample_objects(), EngineOptions())


def node(
    name: str, labels: Mapping[str, str] | None = None, taints: tuple[str, ...] = (), **amounts: str
) -> Manifest:
    """Return the manifest of a node, for ``lab.load(objects=...)``.

    Args:
        name: Its name, which is its hostname label too.
        labels: Further labels.
        taints: Its taints, as with kubectl: ``key=value:NoSchedule`` or ``key:NoSchedule``.
        amounts: Its allocatable amounts, such as ``cpu="8"``, or ``**{"example.com/gpu": "4"}``.
    """
    offered = {**ROOM, **amounts}
    marks = []
    for taint in taints:
        key, _, effect = taint.rpartition(":")
        mark = dict(zip(("key", "value"), key.split("=", 1), strict=False))
        marks.append({**mark, "effect": effect})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": marks} if marks else {},
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    on: str = "",
    namespace: str = "default",
    spec: Mapping[str, Any] | None = None,
    **requests: str,
) -> Manifest:
    """Return the manifest of a pod with one container, for ``lab.load(objects=...)``.

    Args:
        name: Its name.
        labels: Its labels.
        on: Its node; "" = it is pending.
        namespace: Its namespace.
        spec: Further fields of ``spec``, such as ``{"nodeSelector": {"disk": "ssd"}}``.
        requests: The requests of its container, such as ``cpu="2"``.
    """
    container = {"name": "main", "image": "main", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **(spec or {})},
    }
