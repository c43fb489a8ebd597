"""The programs that take part, built from source; an error names a missing one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.laboratories.bench.report import FOLDER
from tests.laboratories.e2e import build

SOURCE = Path(__file__).parent / "go"
BIN = FOLDER / "bin"
DECIDE, ECHO = BIN / "decide", BIN / "echo"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-scheduler")

TOOLS = {
    "go": "the Go toolchain, to build etcd, kube-apiserver, kube-scheduler and the programs beside them",
    "openssl": "OpenSSL, to make kube-apiserver's keys",
}


class MissingError(Exception):
    """Something that has to be there is not; the message says what and why."""


def provide(*, cluster: bool) -> None:
    """Build what is missing or out of date; ``cluster`` asks for the control plane too.

    Raises:
        MissingError: A tool is not in PATH, or a program can't be built.
    """
    for tool, purpose in TOOLS.items():
        if shutil.which(tool) is None:
            raise MissingError(f"`{tool}` is not in PATH; needed is {purpose}")
    BIN.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-trimpath", "-o", f"{BIN}/", "./decide", "./echo"]
    if subprocess.run(command, cwd=SOURCE, check=False).returncode:
        raise MissingError(f"decide and echo can't be built from {SOURCE}; what Go says stands above")
    if cluster and build.main(CONTROL_PLANE):
        raise MissingError("the control plane can't be built; which program, and why, stands above")
