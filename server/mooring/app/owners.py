"""Owners of pods, by the names that kubectl gives their kinds."""

from __future__ import annotations

import re

from mooring.framework import Pod

OWNERS = {
    **dict.fromkeys(("deploy", "deployment", "deployments"), "Deployment"),
    **dict.fromkeys(("rs", "replicaset", "replicasets"), "ReplicaSet"),
    **dict.fromkeys(("rc", "replicationcontroller", "replicationcontrollers"), "ReplicationController"),
    **dict.fromkeys(("sts", "statefulset", "statefulsets"), "StatefulSet"),
    **dict.fromkeys(("ds", "daemonset", "daemonsets"), "DaemonSet"),
    **dict.fromkeys(("job", "jobs"), "Job"),
    **dict.fromkeys(("cj", "cronjob", "cronjobs"), "CronJob"),
}
"""The kinds of owners, by their names on the command line."""

_HASH = "pod-template-hash"
_TIMED = re.compile(r"(.+)-\d+")


def owner_of(pod: Pod) -> str:
    """Return KIND/NAME of the workload that a person wrote, such as Deployment/web; "" = none.

    A pod names its ReplicaSet or Job alone. The names of both begin with that of their owner: a Deployment
    adds the hash in the pod's label, a CronJob a time.
    """
    owner = pod.metadata.controller
    if owner is None:
        return ""
    kind, name = owner.kind, owner.name
    if kind == "ReplicaSet" and (suffix := f"-{pod.metadata.labels.get(_HASH, '')}") != "-":
        return f"Deployment/{name.removesuffix(suffix)}" if name.endswith(suffix) else f"{kind}/{name}"
    return f"{kind}/{name}"


def belongs_to(pod: Pod, kind: str, name: str) -> bool:
    """Return whether a pod belongs to a workload: its controller, or that one's owner."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    if (owner.kind, owner.name) == (kind, name) or owner_of(pod) == f"{kind}/{name}":
        return True
    timed = _TIMED.fullmatch(owner.name) if (kind, owner.kind) == ("CronJob", "Job") else None
    return timed is not None and timed[1] == name
