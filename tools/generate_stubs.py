"""Generates the Python stubs of all .proto files, or checks that the committed ones are up to date.

Without options it writes *_pb2*.py[i] of each package, and the gRPC service config of the public contract.
With ``--check`` it writes nothing, lists what is stale, and its exit code is 1 if anything is.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions
from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Package:
    """A folder of .proto files, and where its stubs go: below ``out``, at the same path or as ``module``.

    With a module of their own, stubs of the same files that a user has generated don't get in their way.
    """

    path: str
    source: str = "protos"
    out: str = "server"
    services: bool = True
    module: str = ""

    @property
    def target(self) -> str:
        """The folder of the stubs."""
        return f"{self.out}/{self.module.replace('.', '/') or self.path}"


PACKAGES = (
    Package("mooring/v1", out="clients/python", module="mooring_client.v1"),
    # ``_pb2_grpc`` modules without a service would be empty.
    Package(
        "mooring/recording/v1", out="clients/python", module="mooring_client.recording.v1", services=False
    ),
    Package("mooring/plugin_host/v1", out="clients/python", module="mooring_client.plugin_host.v1"),
    # Kubernetes' messages, and the contracts that adapters speak, are in the folders of their stubs.
    Package("mooring/kubernetes/v1", source="server", services=False),
    Package("mooring_estimator/wire", source="adapters", out="adapters"),
    Package("mooring_expander/wire", source="adapters", out="adapters"),
)


CONTRACT = "protos/mooring/v1"
SERVICE_CONFIG = f"{CONTRACT}/service_config.json"

RETRY_POLICY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    # RESOURCE_EXHAUSTED is also a library's own limit of a message's size, which a retry meets again.
    "retryableStatusCodes": ["UNAVAILABLE"],
}


def generate(out: Path) -> None:
    """Write every stub and the service config below ``out``. Raises SystemExit if protoc rejects a file."""
    (out / CONTRACT).mkdir(parents=True, exist_ok=True)
    (out / SERVICE_CONFIG).write_text(service_config(), encoding="utf-8")
    for package in PACKAGES:
        source, target = ROOT / package.source, out / package.target
        target.mkdir(parents=True, exist_ok=True)
        plain = [str(p) for p in sorted((source / package.path).glob("*.proto"))]
        services = [p for p in plain if package.services and p.endswith("_service.proto")]
        with tempfile.TemporaryDirectory() as made:
            _protoc(source, f"--python_out={made}", f"--mypy_out=quiet:{made}", *plain)
            if services:
                _protoc(source, f"--grpc_python_out={made}", f"--mypy_grpc_out=quiet:{made}", *services)
            for stub in (Path(made) / package.path).iterdir():
                text = _of_modules(stub.read_text(encoding="utf-8"))
                (target / stub.name).write_text(text, encoding="utf-8")


def service_config() -> str:
    """Return the gRPC service config, JSON, by which a library repeats the calls that are idempotent."""
    with tempfile.TemporaryDirectory() as made:
        described = Path(made) / "contract.binpb"
        files_of_services = map(str, sorted((ROOT / CONTRACT).glob("*_service.proto")))
        _protoc(ROOT / "protos", f"--descriptor_set_out={described}", *files_of_services)
        files_described = FileDescriptorSet.FromString(described.read_bytes()).file
    names = [
        {"service": f"{file.package}.{service.name}", "method": method.name}
        for file in files_described
        for service in file.service
        for method in service.method
        if method.options.idempotency_level != MethodOptions.IDEMPOTENCY_UNKNOWN
    ]
    config = {"methodConfig": [{"name": names, "retryPolicy": RETRY_POLICY}]}
    return json.dumps(config, indent=2) + "\n"


def _of_modules(text: str) -> str:
    """Return a stub's text with imports of the modules in which the packages are."""
    for package in PACKAGES:
        if package.module:
            text = text.replace(
                f"from {package.path.replace('/', '.')} import", f"from {package.module} import"
            )
    return text


def _protoc(source: Path, *arguments: str) -> None:
    scripts = Path(sys.executable).parent
    plugins = [f"--plugin={name}={scripts / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    well_known = str(files("grpc_tools") / "_proto")
    if code := protoc.main(["protoc", f"-I{source}", f"-I{well_known}", *plugins, *arguments]):
        raise SystemExit(f"protoc failed with exit code {code}; its messages are above")


def stubs(root: Path) -> dict[str, bytes]:
    """Return the generated files below ``root``: relative path to content."""
    found = [p for package in PACKAGES for p in (root / package.target).glob("*_pb2*.py*")]
    found += (root / CONTRACT).glob("*.json")
    return {str(p.relative_to(root)): p.read_bytes() for p in found if p.suffix in (".py", ".pyi", ".json")}


def differences(root: Path = ROOT) -> list[str]:
    """One line per stub below ``root`` that is missing, left over or not what its .proto gives."""
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        wanted = stubs(Path(directory))
    present = stubs(root)
    return [
        f"{path}: {_difference(present.get(path), wanted.get(path))}"
        for path in sorted(wanted.keys() | present.keys())
        if present.get(path) != wanted.get(path)
    ]


def _difference(present: bytes | None, wanted: bytes | None) -> str:
    if present is None:
        return "missing"
    return "no longer generated" if wanted is None else "differs from its .proto"


def main() -> int:
    """Run the command line; the result is the exit code."""
    parser = argparse.ArgumentParser(description="Generate the Python stubs of all .proto files.")
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if a stub is stale")
    if parser.parse_args().check:
        stale = differences()
        print(*stale, sep="\n", end="\n" if stale else "")
        if stale:
            print("Stubs are not up to date: run `python tools/generate_stubs.py` and commit the result.")
        return 1 if stale else 0
    for path in stubs(ROOT):
        (ROOT / path).unlink()
    generate(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
