"""Applies manifests and overlays as kubectl does; starts a pod's container as its manifest describes it."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from tests.process import Process, free_port, run

from .api import Api, ApiError, Manifest
from .build import BIN, ROOT
from .control_plane import ControlPlane
from .processes import MooringScheduler

DEPLOY = ROOT / "deploy"
_SCRIPTS = Path(sys.executable).parent


@cache
def built(folder: str) -> list[Manifest]:
    """Return kustomize's output for a folder of deploy/. A Service's fixed address is moved into
    our range.
    """
    objects: list[Manifest] = list(yaml.safe_load_all(run(BIN / "kustomize", "build", DEPLOY / folder)))
    for item in objects:
        if item["kind"] == "Service":
            item["spec"]["clusterIP"] = "10.0.0.53"
    return objects


def written(file: str) -> list[Manifest]:
    """Return the objects of a file of deploy/."""
    return list(yaml.safe_load_all((DEPLOY / file).read_text()))


@cache
def _collections(api: Api, version: str) -> dict[str, tuple[str, bool]]:
    """By kind, the path of its objects, with a place for the namespace, and whether it has namespaces."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    found = [one for one in api.call("GET", root)["resources"] if "/" not in one["name"]]
    return {one["kind"]: (f"{root}/{{}}{one['name']}", one["namespaced"]) for one in found}


def path_of(api: Api, item: Manifest) -> str:
    """Return where objects like `item` are created."""
    template, namespaced = _collections(api, item["apiVersion"])[item["kind"]]
    namespace = item["metadata"].get("namespace", "default")
    return template.format(f"namespaces/{namespace}/" if namespaced else "")


def path_to(api: Api, item: Manifest) -> str:
    """Return where the object `item` is once it is created."""
    return f"{path_of(api, item)}/{item['metadata']['name']}"


def apply(api: Api, objects: list[Manifest]) -> None:
    """Make the objects in their order; existing ones stay, and a namespace gets the new labels."""
    for item in objects:
        try:
            api.call("POST", f"{path_of(api, item)}?fieldValidation=Strict", item)
        except ApiError as error:
            if error.status != 409:
                raise
            if item["kind"] == "Namespace":
                path = path_to(api, item)
                there = api.call("GET", path)
                there["metadata"]["labels"] |= item["metadata"]["labels"]
                api.call("PUT", path, there)


def identity(control_plane: ControlPlane, namespace: str, account: str) -> Path:
    """Return the kubeconfig of a ServiceAccount, with a token that the API server gives for it."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    answer = control_plane.api.call(
        "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    )
    return control_plane.write_kubeconfig(f"{namespace}-{account}", answer["status"]["token"])


def certificates(directory: Path) -> Path:
    """Return the files of the Secret mooring-extender-tls and those of kube-scheduler, as the README makes
    them.
    """
    directory.mkdir()
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    leaf = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    name = "subjectAltName=DNS:mooring-extender.mooring-system.svc,IP:127.0.0.1"
    for file, subject, more in (
        ("ca", "mooring", []),
        ("tls", "mooring-extender", [*leaf, "-addext", name]),
        ("mooring-client", "kube-scheduler", leaf),
    ):
        files = ["-subj", f"/CN={subject}", "-keyout", f"{file}.key", "-out", f"{file}.crt"]
        subprocess.run([*new, *files, *more], cwd=directory, check=True, capture_output=True)
    return directory


def with_certificates(stanza: Manifest, tls: Path) -> Manifest:
    """Return an extender's stanza, or a configuration with some, whose files are those of `certificates`."""
    text = json.dumps(stanza).replace("/etc/kubernetes/pki/mooring-ca.crt", f"{tls}/ca.crt")
    moved: Manifest = json.loads(
        text.replace("/etc/kubernetes/pki/mooring-client.", f"{tls}/mooring-client.")
    )
    return moved


def start(
    name: str,
    objects: list[Manifest],
    directory: Path,
    flags: Mapping[str, str],
    *,
    container: int = 0,
    files: Mapping[str, Path] | None = None,
    ready: str = MooringScheduler.ready_line,
    extra_env: Mapping[str, str] | None = None,
) -> Process:
    """Start a container of the one pod of `objects`: its own command, arguments and ConfigMaps.

    Other than in a cluster, files are below `directory`, or as `files` maps them, and `flags` replaces
    arguments about addresses and the API server.
    """
    spec = pod_spec(objects)
    chosen = spec["containers"][container]
    places = {**_mounted(chosen, spec, objects, directory), **(files or {})}
    arguments = [one for one in chosen["args"] if one.partition("=")[0] not in flags]
    for inside, outside in sorted(places.items(), reverse=True):
        arguments = [argument.replace(inside, str(outside)) for argument in arguments]
    arguments += [f"{flag}={value}" for flag, value in flags.items()]
    program, *words = chosen["command"]
    process = Process(
        name, [str(_SCRIPTS / program), *words, *arguments], directory / f"{name}.log", extra_env
    )
    process.wait_line(ready)
    return process


def metrics_token(control_plane: ControlPlane) -> str:
    """Return the token of a ServiceAccount that may read /metrics, and nothing else."""
    rbac, name = "rbac.authorization.k8s.io", "metrics-reader"
    where = {"name": name, "namespace": "mooring-system"}
    account = {"kind": "ServiceAccount", **where}
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    meta = {"apiVersion": f"{rbac}/v1", "metadata": {"name": name}}
    apply(
        control_plane.api,
        [
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": "mooring-system"},
            },
            {**meta, "kind": "ClusterRole", "rules": [rule]},
            {**meta, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [account]},
        ],
    )
    kubeconfig = identity(control_plane, "mooring-system", name)
    token: str = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


def scheduling(kubeconfig: Path) -> dict[str, str]:
    """Return the flags that take `mooring scheduler` out of its cluster: to a kubeconfig and ports of
    loopback.
    """
    source = f"kubernetes:{kubeconfig}"
    serving = {"--secure-port": str(free_port()), "--grpc-listen": f"127.0.0.1:{free_port()}"}
    return {"--source": source, "--bind-address": "127.0.0.1", **serving}


def pod_spec(objects: list[Manifest]) -> Manifest:
    """Return the spec of the one pod that is among `objects`, or that a workload among them makes."""
    (spec,) = [
        item["spec"] if item["kind"] == "Pod" else item["spec"]["template"]["spec"]
        for item in objects
        if item["kind"] in ("Pod", "Deployment", "DaemonSet")
    ]
    found: Manifest = spec
    return found


def _mounted(
    container: Manifest, spec: Manifest, objects: list[Manifest], directory: Path
) -> dict[str, Path]:
    """By mount path, a folder with the files of the ConfigMap that is mounted there."""
    maps = {item["metadata"]["name"]: item["data"] for item in objects if item["kind"] == "ConfigMap"}
    volumes = {one["name"]: one["configMap"]["name"] for one in spec["volumes"] if "configMap" in one}
    places = {}
    for mount in container.get("volumeMounts", ()):
        if mount["name"] in volumes:
            folder = directory / volumes[mount["name"]]
            folder.mkdir(exist_ok=True)
            for file, text in maps[volumes[mount["name"]]].items():
                (folder / file).write_text(text)
            places[mount["mountPath"]] = folder
    return places


def seen_by_node_filter(log: str, name: str) -> set[str]:
    """Return the nodes of S5's cluster that its nodeFilter noted for the pod, each once."""
    found = re.findall(
        rf"nodeFilter filter pod=default/{name} node=(\S+) cpu=1900 memory=8020508672$", log, re.MULTILINE
    )
    assert len(found) == len(set(found))
    return set(found)
