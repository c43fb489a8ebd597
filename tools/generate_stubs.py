"""Generates the Python stubs of protos/ into server/, or checks that the committed ones are up to date.

Without options it writes server/mooring/{v1,kubernetes/v1}/*_pb2*.py[i]. With `--check` it writes nothing,
lists what is stale, and its exit code is 1 if anything is.
"""

import argparse
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
SERVER = ROOT / "server"
# Only the public contract has services; `_pb2_grpc` modules without one would be empty.
PACKAGES = {"mooring/v1": True, "mooring/kubernetes/v1": False}


def generate(out: Path) -> None:
    """Write every stub below `out`. Raises SystemExit if protoc rejects a file."""
    for package, public in PACKAGES.items():
        plain = [str(p) for p in sorted((PROTOS / package).glob("*.proto"))]
        services = [p for p in plain if public and p.endswith("_service.proto")]
        _protoc(f"--python_out={out}", f"--mypy_out=quiet:{out}", *plain)
        if services:
            _protoc(f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet:{out}", *services)


def _protoc(*arguments: str) -> None:
    scripts = Path(sys.executable).parent
    plugins = [f"--plugin={name}={scripts / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    well_known = str(files("grpc_tools") / "_proto")
    if code := protoc.main(["protoc", f"-I{PROTOS}", f"-I{well_known}", *plugins, *arguments]):
        raise SystemExit(f"protoc failed with exit code {code}; its messages are above")


def stubs(root: Path) -> dict[str, bytes]:
    """Return the generated files below `root`: relative path to content."""
    found = (p for package in PACKAGES for p in (root / package).glob("*_pb2*.py*"))
    return {str(p.relative_to(root)): p.read_bytes() for p in found if p.suffix in (".py", ".pyi")}


def differences() -> list[str]:
    """One line per stub that is missing, left over or different from what protos/ gives."""
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        wanted = stubs(Path(directory))
    present = stubs(SERVER)
    return [
        f"server/{path}: {_difference(present.get(path), wanted.get(path))}"
        for path in sorted(wanted.keys() | present.keys())
        if present.get(path) != wanted.get(path)
    ]


def _difference(present: bytes | None, wanted: bytes | None) -> str:
    if present is None:
        return "missing"
    return "no longer generated" if wanted is None else "differs from what protos/ gives"


def main() -> int:
    """Run the command line; the result is the exit code."""
    parser = argparse.ArgumentParser(description="Generate the Python stubs of protos/ into server/.")
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if a stub is stale")
    if parser.parse_args().check:
        stale = differences()
        print(*stale, sep="\n", end="\n" if stale else "")
        if stale:
            print("Stubs are not up to date: run `python tools/generate_stubs.py` and commit the result.")
        return 1 if stale else 0
    for path in stubs(SERVER):
        (SERVER / path).unlink()
    generate(SERVER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
