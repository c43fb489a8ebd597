"""Builds the real programs that the end-to-end tests run, from Go modules alone.

`python tests/laboratories/e2e/build.py [NAME...]` puts etcd, the control planes of two Kubernetes releases,
kustomize, Helm, ghz, h2spec and kwok, or the named ones, into `.cache/e2e/bin`. Programs of Kubernetes are in
a folder of their release: `kube-scheduler` names that of the newest, `1.36/kube-scheduler` an older one.
e2e.test, which only `make upstream` needs, and kube-schedulers before 1.36 have to be named. A binary is
built again only if its sources have changed; the stamps are next to the binaries.
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
ROOT = HERE.parents[2]
CACHE = ROOT / ".cache" / "e2e"
BIN = CACHE / "bin"

KUBERNETES = {"1.37": "v1.37.2", "1.36": "v1.36.3", "1.35": "v1.35.4", "1.34": "v1.34.4"}
"""The patch release that stands for each release: those of `tests/laboratories/conformance/oracle`."""

RELEASE = "1.37"
"""The release of the control plane that the tests run against."""

SKEWED_RELEASE = "1.36"
"""That of the second control plane, whose API server is older than the release that mooring follows."""

KUBERNETES_VERSION = KUBERNETES[RELEASE]
GHZ_VERSION = "v0.93.0"
_VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Program:
    """One binary: the module under `tools/` that pins its version, its Go package, its linker flags.

    Attributes:
        verb: How Go builds it: `build` a command, or `test -c` the tests of a package.
        release: The Kubernetes release that it is a part of; "" = none.
    """

    name: str
    module: str
    package: str
    ldflags: str = "-s -w"
    verb: tuple[str, ...] = ("build",)
    release: str = ""

    @property
    def path(self) -> Path:
        """Where it is once it is built."""
        return BIN / self.release / self.name

    @property
    def label(self) -> str:
        """Its name for people, and on the command line."""
        return self.name if self.release in ("", RELEASE) else f"{self.release}/{self.name}"

    @property
    def mod_file(self) -> str:
        """The file that pins its version; an older release has one next to the newest's."""
        return "go.mod" if self.release in ("", RELEASE) else f"go-{self.release}.mod"


def kubernetes(name: str, release: str = RELEASE) -> Path:
    """Return where the program of a Kubernetes release is once it is built."""
    return BIN / release / name


def _of_kubernetes(name: str, release: str) -> Program:
    return Program(name, "k8s", f"k8s.io/kubernetes/cmd/{name}", _ldflags(release), release=release)


def _ldflags(release: str) -> str:
    major, minor = release.split(".")
    set_version = f"-X {_VERSION_PACKAGE}.gitVersion={KUBERNETES[release]}"
    return (
        f"-s -w {set_version} -X {_VERSION_PACKAGE}.gitMajor={major} -X {_VERSION_PACKAGE}.gitMinor={minor}"
    )


_CONTROL_PLANE = ("kube-scheduler", "kube-apiserver", "kube-controller-manager")

PROGRAMS = (
    *(_of_kubernetes(name, release) for release in (RELEASE, SKEWED_RELEASE) for name in _CONTROL_PLANE),
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Program("kustomize", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5"),
    Program("helm", "helm", "helm.sh/helm/v4/cmd/helm"),
    Program("ghz", "ghz", "github.com/bojand/ghz/cmd/ghz", f"-s -w -X main.version={GHZ_VERSION}"),
    Program("h2spec", "h2spec", "github.com/summerwind/h2spec/cmd/h2spec"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)

OLDER_SCHEDULERS = tuple(
    _of_kubernetes("kube-scheduler", release)
    for release in KUBERNETES
    if release not in (RELEASE, SKEWED_RELEASE)
)
"""For a comparison of `mooring config show` with releases that have no control plane here."""

UPSTREAM_PROGRAMS = (
    Program(
        "e2e.test",
        "upstream",
        "k8s.io/kubernetes/test/e2e",
        _ldflags(RELEASE),
        ("test", "-mod=mod", "-c"),
        RELEASE,
    ),
)
"""Kubernetes' own end-to-end tests."""

_ALL = (*PROGRAMS, *OLDER_SCHEDULERS, *UPSTREAM_PROGRAMS)


def stamp_of(program: Program, go_version: str) -> str:
    """Return a digest of everything that decides the binary's bytes."""
    digest = hashlib.sha256(f"{go_version}\n{program.package}\n{program.ldflags}".encode())
    pinned = HERE / "tools" / program.module / program.mod_file
    for file in (pinned, pinned.with_suffix(".sum")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def build(program: Program, go_version: str) -> bool:
    """Build one program unless its stamp is current. Return whether it was built.

    Raises subprocess.CalledProcessError when the Go tool fails; its output has been printed by then.
    """
    target = program.path
    stamp_file = target.with_name(f"{target.name}.stamp")
    stamp = stamp_of(program, go_version)
    if target.exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = [f"-modfile={program.mod_file}", "-trimpath", "-ldflags", program.ldflags, "-o", str(target)]
    command = ["go", *program.verb, *flags, program.package]
    subprocess.run(command, cwd=HERE / "tools" / program.module, check=True)
    stamp_file.write_text(stamp)
    return True


def main(names: Sequence[str] = ()) -> int:
    """Build what is missing or out of date, one program after the other, and print how long each took."""
    chosen = [program for program in _ALL if program.label in names] or PROGRAMS
    if shutil.which("go") is None:
        print("e2e build: the Go toolchain is needed and `go` is not on PATH", file=sys.stderr)
        return 1
    go_version = subprocess.run(["go", "version"], check=True, capture_output=True, text=True).stdout.strip()
    for number, program in enumerate(chosen, start=1):
        print(f"e2e build: [{number}/{len(chosen)}] {program.label} ...", flush=True)
        started = time.monotonic()
        try:
            built = build(program, go_version)
        except subprocess.CalledProcessError as error:
            print(f"e2e build: {program.label} failed with exit code {error.returncode}", file=sys.stderr)
            return 1
        elapsed = time.monotonic() - started
        print(
            f"e2e build: [{number}/{len(chosen)}] {program.label} "
            f"{f'built in {elapsed:.0f} s' if built else 'is up to date'}",
            flush=True,
        )
    print(f"e2e build: binaries are in {os.path.relpath(BIN)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
