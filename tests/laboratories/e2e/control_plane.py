"""etcd, kube-apiserver and kube-scheduler on free loopback ports, in a directory of the test's own."""

import json
import secrets
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.process import Process, free_port

from .api import Api
from .build import BIN, RELEASE, SKEWED_RELEASE, kubernetes

USERS = ("admin", "kube-scheduler", "mooring", "crowd")
CROWD = "crowd"
"""The user that is in no group, so that its requests can be put off."""
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch"],
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
        },
        {"level": "None"},
    ],
}


class ControlPlane:
    """A real control plane. Nodes and pods are plain API objects; nothing runs on them.

    Each user of `USERS` has a kubeconfig and a token of its own, all with every right, so that the audit log
    shows the sender of each request; the server may still put off requests of `CROWD`. A context manager;
    `scheduler` starts kube-scheduler with it.
    """

    release = RELEASE
    """Whose programs of Kubernetes run."""

    disabled_admission = "ServiceAccount,TaintNodesByCondition"
    apiserver_flags: tuple[str, ...] = ()
    """More arguments of kube-apiserver, for control planes of other kinds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self._etcd_address = f"http://127.0.0.1:{free_port()}"
        self._port = free_port()
        self.address = f"https://127.0.0.1:{self._port}"
        self._running: list[Process] = []

    def __enter__(self) -> Self:
        try:
            self._write_inputs()
            self._start_etcd()
            self._start_apiserver()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End what was started, the last first."""
        while self._running:
            self._running.pop().stop()

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig file of one of `USERS`."""
        return self.directory / f"{user}.kubeconfig"

    def write_kubeconfig(self, user: str, token: str) -> Path:
        """Write the kubeconfig of a user with a token."""
        self.kubeconfig(user).write_text(json.dumps(self._kubeconfig_of(user, token), indent=2))
        return self.kubeconfig(user)

    def bindings(self) -> list[tuple[str, str]]:
        """(user, pod name) of every Binding that the API server accepted so far, in order."""
        return [
            (event["user"]["username"], event["objectRef"]["name"])
            for event in self.audited()
            if event["responseStatus"]["code"] == 201 and event["objectRef"].get("subresource") == "binding"
        ]

    def audited(self) -> list[dict[str, Any]]:
        """Return the audit log so far, in order, without an incomplete line."""
        text = (self.directory / "audit.log").read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def process(self, name: str) -> Process:
        """Return the running program of that name: ``etcd``, ``kube-apiserver``."""
        return next(process for process in self._running if process.name == name)

    def restart_api_server(self) -> None:
        """End kube-apiserver and start it again, with the same port and etcd's data."""
        api_server = self.process("kube-apiserver")
        self._running.remove(api_server)
        api_server.stop()
        self._start_apiserver()

    def back_up(self) -> Path:
        """Copy etcd's data; etcd and kube-apiserver are started again."""
        copy = self.directory / "etcd-backup"
        self._without_etcd(lambda: shutil.copytree(self._etcd_data, copy))
        return copy

    def restore(self, copy: Path) -> None:
        """Replace etcd's data with a copy, as its manual says: while no kube-apiserver runs."""

        def put_back() -> None:
            shutil.rmtree(self._etcd_data)
            shutil.copytree(copy, self._etcd_data)

        self._without_etcd(put_back)

    def _without_etcd(self, do: Callable[[], object]) -> None:
        for name in ("kube-apiserver", "etcd"):
            process = self.process(name)
            self._running.remove(process)
            process.kill()
        do()
        self._start_etcd()
        self._start_apiserver()

    def compact(self) -> None:
        """Make etcd forget every change so far; kube-apiserver remembers some until it is restarted."""
        revision = int(self.api.call("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"])
        request = urllib.request.Request(
            f"{self._etcd_address}/v3/kv/compaction",
            data=json.dumps({"revision": revision, "physical": True}).encode(),
            method="POST",
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30):
            pass

    def scheduler(
        self,
        config: dict[str, Any],
        name: str = "kube-scheduler",
        port: int | None = None,
        *,
        verbosity: int = 3,
        flags: Sequence[str] = (),
    ) -> Process:
        """Start an unmodified kube-scheduler with `config`, connection and lease added; ready on return.

        Probes and metrics are on `port` of 127.0.0.1, or on a free one; `flags` come last.
        """
        config_file = self.write_scheduler_config(config, name)
        port = port or free_port()
        process = Process(
            name,
            [
                str(kubernetes("kube-scheduler", self.release)),
                f"--config={config_file}",
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={self.directory / name}",
                "--authentication-skip-lookup=true",
                "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
                f"-v={verbosity}",
                *flags,
            ],
            self.directory / f"{name}.log",
        )
        process.wait_ready(lambda: _answers(f"https://127.0.0.1:{port}/readyz"), "/readyz")
        return process

    def write_scheduler_config(self, config: dict[str, Any], name: str) -> Path:
        """Write a KubeSchedulerConfiguration that talks to this API server and takes no lease."""
        connection = {"kubeconfig": str(self.kubeconfig("kube-scheduler")), "qps": 1000, "burst": 1000}
        whole = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": connection,
            "leaderElection": {"leaderElect": False},
            **config,
        }
        target = self.directory / f"{name}.json"
        target.write_text(json.dumps(whole, indent=2))
        return target

    def _write_inputs(self) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            raise RuntimeError("openssl is needed to make the key of kube-apiserver's service accounts")
        key = self.directory / "service-account.key"
        subprocess.run([openssl, "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        groups = {user: "" if user == CROWD else "system:masters" for user in USERS}
        rows = [f'{token},{user},{user},"{groups[user]}"' for user, token in self._tokens.items()]
        (self.directory / "tokens.csv").write_text("\n".join(rows) + "\n")
        (self.directory / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))
        for user, token in self._tokens.items():
            self.write_kubeconfig(user, token)

    def _kubeconfig_of(self, user: str, token: str) -> dict[str, Any]:
        cluster = {"server": self.address, "certificate-authority": str(self._ca_file)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
            "current-context": "e2e",
        }

    @property
    def _etcd_data(self) -> Path:
        return self.directory / "etcd"

    @property
    def _ca_file(self) -> Path:
        """kube-apiserver's own self-signed certificate, which it makes at its first start."""
        return self.directory / "apiserver" / "apiserver.crt"

    def _has_certificate(self) -> bool:
        """Return whether kube-apiserver has written all of it: the file is there a moment before."""
        return self._ca_file.exists() and self._ca_file.read_text().endswith("-----END CERTIFICATE-----\n")

    def _start_etcd(self) -> None:
        peer = f"http://127.0.0.1:{free_port()}"
        process = Process(
            "etcd",
            [
                str(BIN / "etcd"),
                f"--data-dir={self._etcd_data}",
                f"--listen-client-urls={self._etcd_address}",
                f"--advertise-client-urls={self._etcd_address}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
            ],
            self.directory / "etcd.log",
        )
        self._running.append(process)
        process.wait_ready(lambda: _answers(f"{self._etcd_address}/health"), "/health")

    def _start_apiserver(self) -> None:
        key = self.directory / "service-account.key"
        process = Process(
            "kube-apiserver",
            [
                str(kubernetes("kube-apiserver", self.release)),
                f"--etcd-servers={self._etcd_address}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self._port}",
                f"--cert-dir={self.directory / 'apiserver'}",
                f"--token-auth-file={self.directory / 'tokens.csv'}",
                "--anonymous-auth=false",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                # Without a controller-manager nothing makes service accounts or removes the not-ready taint.
                f"--disable-admission-plugins={self.disabled_admission}",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--endpoint-reconciler-type=none",
                f"--audit-policy-file={self.directory / 'audit-policy.json'}",
                f"--audit-log-path={self.directory / 'audit.log'}",
                "--audit-log-mode=blocking",
                *self.apiserver_flags,
            ],
            self.directory / "kube-apiserver.log",
        )
        self._running.append(process)
        process.wait_ready(self._has_certificate, "its certificate")
        self.api = Api(self.address, self._ca_file, self._tokens["admin"])
        process.wait_ready(self.api.is_ready, "the namespace default")


class OlderControlPlane(ControlPlane):
    """A control plane of the release before."""

    release = SKEWED_RELEASE


GROUP_GATES = (
    "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true"
)
"""Gates of 1.37's programs for pod groups, groups that share a topology domain, and their claims."""


class ControlPlaneWithGroups(ControlPlane):
    """One that has Workloads and PodGroups: a gate of kube-apiserver, and API versions that are off."""

    apiserver_flags = (
        GROUP_GATES,
        "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
    )


def page(url: str) -> str:
    """Return a page of a program's own server. Its certificate is new at each start, so it is not checked.

    Raises OSError when the answer is not 200.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    with opener.open(url, timeout=5) as response:
        text: str = response.read().decode()
    return text


def _answers(url: str) -> bool:
    """Return whether a health address answers."""
    try:
        page(url)
    except OSError:
        return False
    return True
