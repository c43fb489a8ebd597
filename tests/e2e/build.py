"""Builds the real programs that the end-to-end tests run, from Go modules alone.

`python tests/e2e/build.py [NAME...]` puts etcd, kube-apiserver, kube-scheduler, kube-controller-manager,
kustomize, ghz and h2spec, or those that are named, into `.cache/e2e/bin`. kwok and e2e.test, which only
`make upstream` needs, have to be named.
A binary is built again only when something it is made from has changed; the stamps lie beside the binaries.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "e2e"
BIN = CACHE / "bin"

KUBERNETES_VERSION = "v1.36.3"
GHZ_VERSION = "v0.93.0"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_MAJOR, _MINOR = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]
RELEASE = f"{_MAJOR}.{_MINOR}"
_KUBERNETES_LDFLAGS = " ".join(
    [
        "-s -w",
        f"-X {_VERSION_PACKAGE}.gitVersion={KUBERNETES_VERSION}",
        f"-X {_VERSION_PACKAGE}.gitMajor={_MAJOR}",
        f"-X {_VERSION_PACKAGE}.gitMinor={_MINOR}",
    ]
)


@dataclass(frozen=True)
class Program:
    """One binary: the module under `tools/` that pins its version, its Go package, its linker flags.

    Attributes:
        verb: How Go builds it: `build` a command, or `test -c` the tests of a package.
    """

    name: str
    module: str
    package: str
    ldflags: str
    verb: tuple[str, ...] = ("build",)


PROGRAMS = (
    Program("kube-scheduler", "k8s", "k8s.io/kubernetes/cmd/kube-scheduler", _KUBERNETES_LDFLAGS),
    Program("kube-apiserver", "k8s", "k8s.io/kubernetes/cmd/kube-apiserver", _KUBERNETES_LDFLAGS),
    Program(
        "kube-controller-manager", "k8s", "k8s.io/kubernetes/cmd/kube-controller-manager", _KUBERNETES_LDFLAGS
    ),
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "-s -w"),
    Program("kustomize", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "-s -w"),
    Program("ghz", "ghz", "github.com/bojand/ghz/cmd/ghz", f"-s -w -X main.version={GHZ_VERSION}"),
    Program("h2spec", "h2spec", "github.com/summerwind/h2spec/cmd/h2spec", "-s -w"),
)

UPSTREAM_PROGRAMS = (
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "-s -w"),
    Program(
        "e2e.test", "upstream", "k8s.io/kubernetes/test/e2e", _KUBERNETES_LDFLAGS, ("test", "-mod=mod", "-c")
    ),
)
"""kubelets that run nothing, and Kubernetes' own end-to-end tests."""


def stamp_of(program: Program, go_version: str) -> str:
    """A digest of everything that decides the binary's bytes."""
    digest = hashlib.sha256(f"{go_version}\n{program.package}\n{program.ldflags}".encode())
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / "tools" / program.module / name).read_bytes())
    return digest.hexdigest()


def build(program: Program, go_version: str) -> bool:
    """Builds one program unless its stamp is current. Returns whether it was built.

    Raises subprocess.CalledProcessError when the Go tool fails; its output has been printed by then.
    """
    target, stamp_file = BIN / program.name, BIN / f"{program.name}.stamp"
    stamp = stamp_of(program, go_version)
    if target.exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
        return False
    flags = ["-trimpath", "-ldflags", program.ldflags, "-o", str(target)]
    command = ["go", *program.verb, *flags, program.package]
    subprocess.run(command, cwd=HERE / "tools" / program.module, check=True)
    stamp_file.write_text(stamp)
    return True


def main(names: Sequence[str] = ()) -> int:
    """Builds what is missing or out of date, one program after the other, and says how long each took."""
    chosen = [program for program in (*PROGRAMS, *UPSTREAM_PROGRAMS) if program.name in names] or PROGRAMS
    if shutil.which("go") is None:
        print("e2e build: the Go toolchain is needed and `go` is not on PATH", file=sys.stderr)
        return 1
    BIN.mkdir(parents=True, exist_ok=True)
    go_version = subprocess.run(["go", "version"], check=True, capture_output=True, text=True).stdout.strip()
    for number, program in enumerate(chosen, start=1):
        print(f"e2e build: [{number}/{len(chosen)}] {program.name} ...", flush=True)
        started = time.monotonic()
        try:
            built = build(program, go_version)
        except subprocess.CalledProcessError as error:
            print(f"e2e build: {program.name} failed with exit code {error.returncode}", file=sys.stderr)
            return 1
        elapsed = time.monotonic() - started
        print(
            f"e2e build: [{number}/{len(chosen)}] {program.name} "
            f"{f'built in {elapsed:.0f} s' if built else 'is up to date'}",
            flush=True,
        )
    print(f"e2e build: binaries are in {os.path.relpath(BIN)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
