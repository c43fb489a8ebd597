"""`mooring scheduler` as a process over the fake API server."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from mooring.app.scheduler import run_scheduler
from mooring.cli.main import _parser
from mooring.cli.scheduler import _scheduler_options
from mooring.testing.builders import pod_manifest
from tests.certificates import Pair
from tests.cli.commands import BIN, Ready, Started, in_this_process, program, write_config
from tests.fake_api_server import FakeApiServer

MINE = {"schedulerName": "mine"}
QUICK = ["--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1s"]
QUICK += ["--leader-elect-retry-period=200ms"]
LONGEST_SECONDS = 60.0


def pending(name: str, **spec: Any) -> dict[str, Any]:
    return pod_manifest(name, spec={"schedulerName": "mine", **spec})


def scheduler_command(
    fake: FakeApiServer, folder: Path, *flags: str, extenders: Any = (), **connection: Any
) -> list[str]:
    """The arguments of ``mooring``; ``connection`` is added to the file's clientConnection."""
    pace = {"qps": 5000, "burst": 5000, **connection}
    config = write_config(folder / "config.yaml", MINE, clientConnection=pace, extenders=list(extenders))
    source = f"kubernetes:{fake.kubeconfig(folder / 'kubeconfig')}"
    listener = ("--bind-address=127.0.0.1", "--secure-port=0")
    return ["scheduler", "--config", str(config), "--source", source, *listener, *flags]


def scheduler(
    fake: FakeApiServer, folder: Path, *flags: str, extenders: Any = (), **connection: Any
) -> AbstractContextManager[Started]:
    """Return a process with these arguments."""
    return program(
        folder, BIN / "mooring", *scheduler_command(fake, folder, *flags, extenders=extenders, **connection)
    )


def scheduling(
    fake: FakeApiServer, folder: Path, *flags: str, extenders: Any = (), **connection: Any
) -> AbstractContextManager[Ready]:
    """Return the same in this process."""
    args = _parser(["scheduler"]).parse_args(
        scheduler_command(fake, folder, *flags, extenders=extenders, **connection)
    )
    return in_this_process(partial(run_scheduler, _scheduler_options(args, ())))


def node_of(fake: FakeApiServer, name: str) -> str:
    found = fake.get("Pod", name)
    assert found is not None
    node: str = found["spec"].get("nodeName", "")
    return node


def lease(fake: FakeApiServer) -> dict[str, Any]:
    found = fake.get("Lease", "mooring", "kube-system")
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def ended(started: Started) -> int:
    return started.process.wait(LONGEST_SECONDS)


def take_lease(fake: FakeApiServer, identity: str) -> None:
    """Another replica has the lease from now on."""
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mooring"
    taken = fake.get("Lease", "mooring", "kube-system")
    assert taken is not None
    taken["spec"]["holderIdentity"] = identity
    assert fake.client().request("PUT", path, body=taken).ok


def probe(port: int, path: str, *, pair: Pair | None = None, **headers: str) -> tuple[int, str]:
    """Return status and body; a kubelet doesn't check the certificate either."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    if pair is not None:
        unchecked.load_cert_chain(pair.certificate, pair.key)
    request = urllib.request.Request(f"https://127.0.0.1:{port}/{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30, context=unchecked) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as rejection:
        with rejection:
            return rejection.code, rejection.read().decode()
