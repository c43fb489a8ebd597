"""Builds Kubernetes' integration tests of scheduling so that another program can be the scheduler.

Go lets nothing in its module cache be overlaid, so the module is copied into `.cache/integration`. There two
functions get another name, and `process.go` provides what had theirs.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.laboratories.e2e.build import HERE, KUBERNETES_VERSION, ROOT

CACHE = ROOT / ".cache" / "integration"
MODULE = CACHE / "kubernetes"
BIN = CACHE / "bin"
SUITE = "test/integration/scheduler"
_PINNED = HERE / "tools" / "upstream"
_PROCESS = Path(__file__).with_name("process.go")
_EDITS = {
    "pkg/scheduler/scheduler.go": {
        "\nfunc New(ctx": "\nfunc newInProcess(ctx",
        "\nfunc (sched *Scheduler) Run(": "\nfunc (sched *Scheduler) runInProcess(",
    },
    "test/integration/framework/etcd.go": {"goleakFindRetry(goleakOpts": "goleak.Find(goleakOpts"},
    "test/integration/framework/test_server.go": {
        "Millisecond, 10*time.Second": "Millisecond, 5*time.Minute"
    },
    "cmd/kube-apiserver/app/testing/testserver.go": {
        "Millisecond, time.Minute": "Millisecond, 5*time.Minute",
        "Millisecond, 30*time.Second": "Millisecond, 5*time.Minute",
    },
    "pkg/registry/scheduling/rest/storage_scheduling.go": {"Second, 30*time.Second": "Second, 5*time.Minute"},
    "pkg/registry/rbac/rest/storage_rbac.go": {"Second, 30*time.Second": "Second, 5*time.Minute"},
}
"""By file what is put in a text's place.

The suite would wait minutes for a refused case's goroutines. For its API server to be healthy and to have its
first objects it would wait seconds, which are too few on a busy machine.
"""

_VERSION = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}"


def packages() -> list[str]:
    """Return the packages of the suite that have tests, by their folders below it; "." is the suite's own."""
    suite = MODULE / SUITE
    return sorted({str(file.parent.relative_to(suite)) for file in suite.rglob("*_test.go")})


def binary(package: str) -> Path:
    """Return where the tests of a package are once they are built."""
    return BIN / f"{'scheduler' if package == '.' else package.replace('/', '-')}.test"


def prepare() -> None:
    """Lay out the module with the scheduler's place open, unless it already is.

    Raises:
        RuntimeError: Kubernetes has no function of a name that is to be changed.
        subprocess.CalledProcessError: Go could not fetch the module.
    """
    stamp, wanted = CACHE / "stamp", _digest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    shutil.copytree(_module_in_cache(), MODULE, copy_function=shutil.copyfile)
    MODULE.chmod(0o755)
    for folder in MODULE.rglob("*/"):
        folder.chmod(0o755)
    _open_the_place()
    pinned = (_PINNED / "go.mod").read_text()
    (CACHE / "go.mod").write_text(f"{pinned}\nreplace k8s.io/kubernetes => ./{MODULE.name}\n")
    shutil.copyfile(_PINNED / "go.sum", CACHE / "go.sum")
    stamp.write_text(wanted)


def build(package: str) -> None:
    """Build the tests of one package, unless they are there; raises as ``prepare`` does."""
    target = binary(package)
    if target.exists():
        return
    flags = ["-mod=mod", "-trimpath", "-ldflags", _VERSION, "-o", str(target)]
    name = f"k8s.io/kubernetes/{SUITE}" + ("" if package == "." else f"/{package}")
    subprocess.run(["go", "test", "-c", *flags, name], cwd=CACHE, check=True)


def _open_the_place() -> None:
    for name, edits in _EDITS.items():
        file = MODULE / name
        text = file.read_text()
        for old, new in edits.items():
            if text.count(old) != 1:
                raise RuntimeError(f"{file}: {old!r} was to be there exactly once")
            text = text.replace(old, new)
        file.write_text(text)
    shutil.copyfile(_PROCESS, MODULE / "pkg" / "scheduler" / _PROCESS.name)


def _module_in_cache() -> Path:
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES_VERSION}"]
    subprocess.run(command, cwd=_PINNED, check=True, stdout=subprocess.DEVNULL)
    found = ["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]
    return Path(subprocess.run(found, cwd=_PINNED, check=True, capture_output=True, text=True).stdout.strip())


def _digest() -> str:
    digest = hashlib.sha256()
    for part in _sources():
        digest.update(part)
    return digest.hexdigest()


def _sources() -> Iterator[bytes]:
    yield f"{KUBERNETES_VERSION} {_EDITS} {_VERSION}".encode()
    for file in (_PINNED / "go.mod", _PINNED / "go.sum", _PROCESS):
        yield file.read_bytes()
