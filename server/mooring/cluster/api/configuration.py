"""The API server's address and our credentials, from a kubeconfig file or the pod's service account."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mooring.files import seen
from mooring.framework.errors import InvalidArgumentError

Load = Callable[[], Any]
"""Reads a ``kubernetes.client.Configuration`` again: files may have changed since."""


def from_kubeconfig(path: str | Path, server: str = "", context: str = "") -> Load:
    """Read a context of a kubeconfig file, "" = its current one; ``server`` replaces the address in it.

    The result raises InvalidArgumentError when the file can't be used.
    """

    def load() -> Any:
        from kubernetes.client import Configuration
        from kubernetes.config import ConfigException, load_kube_config
        from yaml import YAMLError

        configuration = Configuration()
        # The package's error for a missing file would say that it has no users.
        files = [file for one in str(path).split(os.pathsep) if (file := Path(one).expanduser()).exists()]
        if not files:
            raise InvalidArgumentError.at("kubeconfig", f"{path}: no such file")
        try:
            for file in files:
                seen(file)
            load_kube_config(  # type: ignore[no-untyped-call] # the package types its models only
                config_file=str(path),
                context=context or None,
                client_configuration=configuration,
                persist_config=False,
            )
        except (ConfigException, YAMLError, OSError, ValueError, TypeError) as error:
            raise InvalidArgumentError.at("kubeconfig", f"{path} can't be used: {error}") from error
        if server:
            configuration.host = server.rstrip("/")
        return configuration

    return load


def namespace_of(path: str | Path, context: str = "") -> str:
    """Return the namespace of a context of a kubeconfig file, "" = its current one; "" = it names none.
    Raises InvalidArgumentError if the file can't be used, or has no such context.
    """
    from kubernetes.config import ConfigException, list_kube_config_contexts
    from yaml import YAMLError

    try:
        contexts, current = list_kube_config_contexts(str(path))  # type: ignore[no-untyped-call] # as above
    except (ConfigException, YAMLError, OSError, ValueError, TypeError) as error:
        raise InvalidArgumentError.at("kubeconfig", f"{path} can't be used: {error}") from error
    if not context:
        return str(current["context"].get("namespace") or "")
    names = {each["name"]: each["context"] for each in contexts}
    if context not in names:
        known = ", ".join(names)
        raise InvalidArgumentError.at("context", f"{path} has no {context!r}, but {known}")
    return str(names[context].get("namespace") or "")


def in_pod() -> bool:
    """Return whether this process runs in a pod: kubelet's environment names the API server."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def in_cluster() -> Any:
    """Read the service account of the pod that this process runs in. Raises InvalidArgumentError if there is
    none.
    """
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_incluster_config

    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # as above
    except ConfigException as error:
        raise InvalidArgumentError.at("in-cluster", f"no service account: {error}") from error
    return configuration


def at(server: str) -> Load:
    """Read nothing: the address of a server without authentication."""

    def load() -> Any:
        from kubernetes.client import Configuration

        configuration = Configuration()
        configuration.host = server.rstrip("/")
        return configuration

    return load
