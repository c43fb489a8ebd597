"""The source of the cluster's state, and its API server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mooring.app.options import SOURCES
from mooring.cluster.api import ApiServer
from mooring.cluster.api.client import ClientOptions
from mooring.cluster.api.configuration import in_pod
from mooring.cluster.sources import FilesSource, KubernetesSource, PushSource, SampleSource, Source
from mooring.cluster.sources.static import StaticSource
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import Gates
from mooring.recordings.playback import Moment
from mooring.runtime.profiles.profile import Profile
from mooring.telemetry.process_metrics import RequestMetrics

NO_SOURCE = (
    "--source: say where the cluster comes from: kubernetes:KUBECONFIG (a live cluster), files:PATH,... "
    "(manifests), recording:DIR[@TIME] (what was recorded), push (over gRPC), or sample (six made-up "
    "nodes to try it out with)"
)


def default_source() -> str:
    """Return ``kubernetes`` in a pod, else ""."""
    return "kubernetes" if in_pod() else ""


def kubeconfig_of(kubeconfig: str) -> str:
    """Return the named file, else that of KUBECONFIG, which may be several, else kubectl's own."""
    return kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


def api_server_to_read(kubeconfig: str, context: str = "") -> ApiServer:
    """Return the API server of a file, else of the pod that this runs in, else of kubectl's own file.
    ``context`` is one of the file's contexts; "" = the current one. Raises InvalidArgumentError if there is
    no such file or context, or it can't be used.
    """
    if not (kubeconfig or context) and in_pod():
        return ApiServer.in_cluster()
    files = kubeconfig_of(kubeconfig)
    if not any(Path(file).expanduser().exists() for file in files.split(os.pathsep)):
        raise InvalidArgumentError.at(files, "no such file; name a kubeconfig with --kubeconfig")
    return ApiServer.from_kubeconfig(files, context=context)


def api_server_of(
    source: str, kubeconfig: str, requests: RequestMetrics, *, in_cluster: bool
) -> ApiServer | None:
    """Return the API server that ``--source``, ``--kubeconfig`` or ``--in-cluster`` name; None without one.

    A source ``kubernetes`` that names no file takes that of ``--kubeconfig``, else the pod's own cluster.
    Raises InvalidArgumentError if they contradict each other, or it can't be used.
    """
    kind, _, file = source.partition(":")
    live = kind == "kubernetes"
    if kubeconfig and (in_cluster or (live and file)):
        other = "--in-cluster" if in_cluster else f"--source {source}"
        raise InvalidArgumentError.at("--kubeconfig", f"is given together with {other}; choose one")
    counted = ClientOptions(ended=requests.ended)
    if named := kubeconfig or (file if live else ""):
        return ApiServer.from_kubeconfig(named, counted)
    return ApiServer.in_cluster(counted) if in_cluster or live else None


def source_of(
    text: str, state: State, api: ApiServer | None, profiles: Iterable[Profile], gates: Gates
) -> Source:
    """Return the source that ``--source`` names.

    A live one delivers what ``profiles``' plugins read, and DaemonSets, since new nodes would get their pods.
    Raises InvalidArgumentError if there is no such source.
    """
    kind, _, rest = text.partition(":")
    if text == "sample":
        return SampleSource(state)
    if text == "push":
        return PushSource(state)
    if kind == "files" and rest:
        return FilesSource(state, rest.split(","), gates)
    if kind == "recording" and rest:
        moment = Moment.named(rest)
        return StaticSource(state, f"recording:{moment.directory}", moment.objects)
    if kind == "kubernetes" and api is not None:
        return KubernetesSource(state, api, {"DaemonSet": ["NodeGroups"], **readers_of(profiles)})
    raise InvalidArgumentError.at("--source (--cluster)", f"{text!r} is not one of {SOURCES}")


def check_read_kinds(profiles: Iterable[Profile], source: Source) -> None:
    """Check that ``profiles`` read only kinds that a live source has followed since its start. Raises
    InvalidArgumentError if a plugin does.
    """
    if not isinstance(source, KubernetesSource):
        return
    for kind, plugins in readers_of(profiles).items():
        if kind not in source.kinds:
            raise InvalidArgumentError.at(
                ", ".join(plugins), f"reads {kind}, which only a start begins to follow; restart"
            )


def readers_of(profiles: Iterable[Profile]) -> dict[str, list[str]]:
    """Return the kinds that plugins of ``profiles`` read, by name, each with the names of these plugins."""
    readers: dict[str, dict[str, None]] = {}
    for profile in profiles:
        for name, plugin in profile.plugins.items():
            for kind in plugin.reads:
                readers.setdefault(kind.__name__, {})[name] = None
    return {kind: list(names) for kind, names in readers.items()}
