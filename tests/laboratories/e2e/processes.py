"""mooring's own processes, started by their command lines, which are written down here and nowhere else."""

import json
import signal
import sys
import urllib.request
from collections.abc import Container
from pathlib import Path
from typing import Any, Self

from tests.process import Process, Restartable, free_port, run

HTTP_TIMEOUT = "5s"

INSECURE_BINDING = "--insecure-binding"
"""Most of these tests are not about the right to bind; a later flag takes it back."""

_HOST_PORT = r"\S+:\d+"
_SCRIPTS = Path(sys.executable).parent


def mooring(*arguments: str | Path, codes: Container[int] = (0,)) -> str:
    """Run a `mooring` command to its end, with one of these exit codes; return its standard output."""
    return run(_SCRIPTS / "mooring", *arguments, codes=codes)


class MooringProcess(Restartable):
    """A process that says in a line when it is ready."""

    ready_line: str

    def wait_ready(self, process: Process) -> None:
        process.wait_line(self.ready_line)

    def output(self) -> str:
        """Return the output of the running process so far."""
        return self.process.output()

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self._process = None


def certified(tls: Path, prefix: str = "") -> tuple[str, ...]:
    """Return the flags for HTTPS with the files of `applying.certificates`, by which kube-scheduler alone
    binds.
    """
    return (
        f"--{prefix}tls-cert-file={tls}/tls.crt",
        f"--{prefix}tls-private-key-file={tls}/tls.key",
        f"--{prefix}client-ca-file={tls}/ca.crt",
        "--allow-client=cn:kube-scheduler",
    )


class MooringServer(MooringProcess):
    """`mooring serve` on a free port of 127.0.0.1."""

    name = "mooring"
    extender_url = ""
    ready_line = (
        rf"^mooring ready: grpc={_HOST_PORT} (extender=\S+ )?health={_HOST_PORT} metrics={_HOST_PORT}"
    )

    def __init__(
        self,
        directory: Path,
        config: dict[str, Any] | None = None,
        *flags: str,
        source: str = "push",
        kubeconfig: Path | None = None,
    ) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        command = [str(_SCRIPTS / "mooring"), "serve", "--source", source, "--drain-delay", "0"]
        self.metrics_address = f"127.0.0.1:{free_port()}"
        command += ["--health-listen", f"127.0.0.1:{free_port()}", "--metrics-listen", self.metrics_address]
        command += ["--listen", self.address, INSECURE_BINDING]
        if config is not None:
            file = directory / "mooring-config.json"
            file.write_text(json.dumps(config, indent=2))
            command += ["--config", str(file)]
        if kubeconfig is not None:
            command += ["--kubeconfig", str(kubeconfig)]
        command += flags
        super().__init__(directory, command)

    @classmethod
    def answering_extender_calls(
        cls, directory: Path, config: dict[str, Any], *flags: str, source: str
    ) -> Self:
        """Return one that has the extender adapter in it, at `extender_url`."""
        listen = f"127.0.0.1:{free_port()}"
        extending = ("--extender-listen", listen, "--extender-http-timeout", HTTP_TIMEOUT)
        server = cls(directory, config, *extending, *flags, source=source)
        server.extender_url = f"http://{listen}"
        return server

    def metrics(self) -> str:
        """Return its metrics page."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.metrics_address}/metrics", timeout=10) as response:
            text: str = response.read().decode()
        return text


class Adapter(MooringProcess):
    """`mooring-extender` on a free port of 127.0.0.1, in front of a server.

    With the folder `tls` of `applying.certificates` it speaks HTTPS, and binds for kube-scheduler alone.
    """

    name = "mooring-extender"
    ready_line = rf"^mooring-extender ready: https?://{_HOST_PORT}"

    def __init__(self, directory: Path, server_address: str, *flags: str, tls: Path | None = None) -> None:
        listen = f"127.0.0.1:{free_port()}"
        self.tls = tls
        self.url = f"{'https' if tls else 'http'}://{listen}"
        if tls is not None:
            flags += (*certified(tls), "--insecure-binding=false")
        command = [str(_SCRIPTS / "mooring-extender"), "--listen", listen, "--server", server_address]
        command += ["--http-timeout", HTTP_TIMEOUT, "--drain-delay", "0", INSECURE_BINDING, *flags]
        super().__init__(directory, command)


OPEN_METRICS = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"


class MooringScheduler(MooringProcess):
    """`mooring scheduler`, with probes and metrics on a free port of 127.0.0.1."""

    name = "mooring-scheduler"
    ready_line = r"^mooring ready: telemetry="

    def __init__(self, directory: Path, kubeconfig: Path, config: dict[str, Any], *flags: str) -> None:
        file = directory / "mooring-scheduler-config.json"
        whole = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"qps": 5000, "burst": 5000},
            **config,
        }
        file.write_text(json.dumps(whole, indent=2))
        port = free_port()
        self.telemetry = f"https://127.0.0.1:{port}"
        command = [str(_SCRIPTS / "mooring"), "scheduler", "--config", str(file), "--v=4"]
        command += ["--source", f"kubernetes:{kubeconfig}"]
        command += ["--bind-address=127.0.0.1", f"--secure-port={port}", OPEN_METRICS, *flags]
        super().__init__(directory, command)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.signal(number)

    def wait_end(self) -> int:
        """Wait until it ends by itself; return the exit code."""
        assert self._process is not None
        code = self._process.wait_end()
        self._process = None
        return code
