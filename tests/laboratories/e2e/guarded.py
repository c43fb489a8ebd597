"""A control plane that is guarded and at work: RBAC, service accounts, and controllers that make pods."""

import time
from typing import Self

from tests.process import Process, free_port, wait_until

from .build import kubernetes
from .control_plane import ControlPlane

_WORKLOADS = "/apis/apps/v1/namespaces/default"
_PODS = "/api/v1/namespaces/default/pods"
_HEARD_SECONDS = 0.5
"""The time after which controllers have heard of everything."""


class GuardedControlPlane(ControlPlane):
    """RBAC decides what each may do, kube-scheduler's own identity included; workloads get their pods."""

    disabled_admission = "TaintNodesByCondition"
    apiserver_flags: tuple[str, ...] = ("--authorization-mode=RBAC",)
    controllers: tuple[str, ...] = (
        "daemonset-controller",
        "deployment-controller",
        "job-controller",
        "replicaset-controller",
        "replicationcontroller-controller",
        "root-ca-certificate-publisher-controller",
        "serviceaccount-controller",
        "statefulset-controller",
    )
    """Those that look after nodes are left out: nothing sends a heartbeat here."""

    controller_flags: tuple[str, ...] = ()
    """More arguments of kube-controller-manager, for control planes of other kinds."""

    static_pods_token = "token-of-static-pods"
    """The token of the user system:kube-scheduler."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._start_controller_manager()
        except BaseException:
            self.stop()
            raise
        return self

    def clear(self) -> None:
        """Remove every workload of the namespace `default`, then all pods, events and nodes."""
        self.clear_workloads()
        self.api.clear()

    def clear_workloads(self) -> None:
        """Remove every workload of the namespace `default` with its pods."""
        wait_until(self._is_without_workloads, "workloads and their pods to be gone")

    def _is_without_workloads(self) -> bool:
        """Remove them, and look whether a controller that had not heard of that has made some again."""
        collections = (f"{_WORKLOADS}/deployments", f"{_WORKLOADS}/replicasets", _PODS)
        for path in collections:
            self.api.call("DELETE", f"{path}?gracePeriodSeconds=0")
        time.sleep(_HEARD_SECONDS)
        return not any(self.api.items(path) for path in collections)

    def _write_inputs(self) -> None:
        super()._write_inputs()
        with (self.directory / "tokens.csv").open("a") as tokens:
            tokens.write(f"{self.static_pods_token},system:kube-scheduler,static-pod\n")

    def _start_controller_manager(self) -> None:
        process = Process(
            "kube-controller-manager",
            [
                str(kubernetes("kube-controller-manager", self.release)),
                f"--kubeconfig={self.kubeconfig('admin')}",
                f"--root-ca-file={self._ca_file}",
                f"--controllers={','.join(self.controllers)}",
                "--leader-elect=false",
                "--kube-api-qps=1000",
                "--kube-api-burst=1000",
                "--bind-address=127.0.0.1",
                f"--secure-port={free_port()}",
                "--authentication-skip-lookup=true",
                *self.controller_flags,
            ],
            self.directory / "kube-controller-manager.log",
        )
        self._running.append(process)
        process.wait_ready(self._has_accounts, "the service account of the namespace default")

    def _has_accounts(self) -> bool:
        return bool(self.api.items("/api/v1/namespaces/default/serviceaccounts"))
