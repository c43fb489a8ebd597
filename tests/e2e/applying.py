"""Applies manifests and overlays as kubectl does; starts a pod's container with what its manifest says."""

import sys
from functools import cache
from pathlib import Path

import yaml

from .api import Api, ApiError, Manifest
from .build import BIN, ROOT
from .control_plane import ControlPlane
from .process import Process, free_port, run
from .processes import MooringScheduler

DEPLOY = ROOT / "deploy"
_SCRIPTS = Path(sys.executable).parent


@cache
def built(folder: str) -> list[Manifest]:
    """What kustomize makes of a folder of deploy/. A Service's fixed address is moved into our range."""
    objects: list[Manifest] = list(yaml.safe_load_all(run(BIN / "kustomize", "build", DEPLOY / folder)))
    for item in objects:
        if item["kind"] == "Service":
            item["spec"]["clusterIP"] = "10.0.0.53"
    return objects


def written(file: str) -> list[Manifest]:
    """The objects of a file of deploy/."""
    return list(yaml.safe_load_all((DEPLOY / file).read_text()))


@cache
def _collections(api: Api, version: str) -> dict[str, tuple[str, bool]]:
    """By kind, the path of its objects, with a place for the namespace, and whether it has namespaces."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    found = [one for one in api.call("GET", root)["resources"] if "/" not in one["name"]]
    return {one["kind"]: (f"{root}/{{}}{one['name']}", one["namespaced"]) for one in found}


def path_of(api: Api, item: Manifest) -> str:
    """Where objects like `item` are created."""
    template, namespaced = _collections(api, item["apiVersion"])[item["kind"]]
    namespace = item["metadata"].get("namespace", "default")
    return template.format(f"namespaces/{namespace}/" if namespaced else "")


def apply(api: Api, objects: list[Manifest]) -> None:
    """Makes the objects in their order; what is there already stays, a namespace gets the new labels."""
    for item in objects:
        try:
            api.call("POST", f"{path_of(api, item)}?fieldValidation=Strict", item)
        except ApiError as error:
            if error.status != 409:
                raise
            if item["kind"] == "Namespace":
                path = f"{path_of(api, item)}/{item['metadata']['name']}"
                there = api.call("GET", path)
                there["metadata"]["labels"] |= item["metadata"]["labels"]
                api.call("PUT", path, there)


def identity(control_plane: ControlPlane, namespace: str, account: str) -> Path:
    """The kubeconfig of a ServiceAccount, with a token that the API server gives for it."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    answer = control_plane.api.call(
        "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    )
    return control_plane.write_kubeconfig(f"{namespace}-{account}", answer["status"]["token"])


def start(
    name: str,
    objects: list[Manifest],
    directory: Path,
    kubeconfig: Path,
    files: dict[str, Path] | None = None,
    extra_env: dict[str, str] | None = None,
) -> Process:
    """Starts the first container of the one pod of `objects`: its own command, arguments and ConfigMaps.

    Other than in a cluster: files are below `directory`, or where `files` says; the API server is that of
    `kubeconfig` in place of the pod's own; the listener is on a free port of 127.0.0.1.
    """
    spec = pod_spec(objects)
    container = spec["containers"][0]
    places = {**_mounted(spec, objects, directory), **(files or {})}
    arguments = []
    for argument in container["args"]:
        for inside, outside in places.items():
            argument = argument.replace(inside, str(outside))  # noqa: PLW2901
        arguments.append(argument)
    arguments = [
        one for one in arguments if not one.startswith(("--source", "--bind-address", "--secure-port"))
    ]
    here = [f"--source=kubernetes:{kubeconfig}", "--bind-address=127.0.0.1", f"--secure-port={free_port()}"]
    program, *words = container["command"]
    command = [str(_SCRIPTS / program), *words, *arguments, *here]
    process = Process(name, command, directory / f"{name}.log", extra_env)
    process.wait_line(MooringScheduler.ready_line)
    return process


def pod_spec(objects: list[Manifest]) -> Manifest:
    """The spec of the one pod that is among `objects`, or that a workload among them makes."""
    (spec,) = [
        item["spec"] if item["kind"] == "Pod" else item["spec"]["template"]["spec"]
        for item in objects
        if item["kind"] in ("Pod", "Deployment", "DaemonSet")
    ]
    found: Manifest = spec
    return found


def _mounted(spec: Manifest, objects: list[Manifest], directory: Path) -> dict[str, Path]:
    """By mount path, a folder with the files of the ConfigMap that is mounted there."""
    maps = {item["metadata"]["name"]: item["data"] for item in objects if item["kind"] == "ConfigMap"}
    volumes = {one["name"]: one["configMap"]["name"] for one in spec["volumes"] if "configMap" in one}
    places = {}
    for mount in spec["containers"][0]["volumeMounts"]:
        if mount["name"] in volumes:
            folder = directory / volumes[mount["name"]]
            folder.mkdir(exist_ok=True)
            for file, text in maps[volumes[mount["name"]]].items():
                (folder / file).write_text(text)
            places[mount["mountPath"]] = folder
    return places
