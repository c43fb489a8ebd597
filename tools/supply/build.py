"""Builds what users install into a folder: the same bytes for the same commit.

The folder gets wheel and source distribution of mooring and of its client, the image's build context for
``docker build -``, CycloneDX documents, and a provenance statement. ``--twice`` builds two clones of the last
commit under different circumstances, and fails if one file differs.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.supply import provenance, sbom

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = ("clients/python", ".")


def output_of(*command: str, directory: Path = ROOT) -> str:
    """Return what a program prints."""
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


def source_date() -> int:
    """Return ``SOURCE_DATE_EPOCH``, or the time of the last commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output_of("git", "log", "-1", "--format=%ct"))


def context_files() -> list[str]:
    """Return the tracked files that ``.dockerignore`` leaves to the image's build, sorted."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    return sorted(output_of("git", "ls-files", "--", "Dockerfile", ".dockerignore", *kept).splitlines())


def write_context(path: Path, epoch: int) -> None:
    """Write the image's build context with one owner and one time for all files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in context_files():
            content = (ROOT / name).read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), epoch, 0o644
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def build(folder: Path) -> None:
    """Build everything into ``folder``, which may hold other files."""
    epoch = source_date()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name)
        for project in PROJECTS:
            command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", fresh, ROOT / project)
            subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)})
        wheel = next(fresh.glob("mooring_scheduler-*.whl"))
        version = wheel.name.split("-")[1]
        write_context(fresh / f"mooring-image-context-{version}.tar.gz", epoch)
        _write(fresh / "mooring-image.cdx.json", sbom.of_image(version))
        _write(fresh / "mooring-wheel.cdx.json", sbom.of_wheel(version))
        made = {file.name: digest(file) for file in sorted(fresh.iterdir())}
        commit = output_of("git", "rev-parse", "HEAD")
        changed = bool(output_of("git", "status", "--porcelain", "--untracked-files=no"))
        _write(
            fresh / "mooring.provenance.json",
            provenance.statement(made, commit, changed=changed, epoch=epoch),
        )
        for file in fresh.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def built_elsewhere(folder: Path, umask: int, **environment: str) -> dict[str, str]:
    """Clone the last commit into ``folder``, build there, and return the digests of the files."""
    output_of("git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(folder))
    previous = os.umask(umask)
    try:
        output_of(
            "git", "checkout", "--quiet", "--detach", output_of("git", "rev-parse", "HEAD"), directory=folder
        )
        subprocess.run(
            [sys.executable, "-m", "tools.supply.build", "--outdir", "dist"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | environment,
        )
    finally:
        os.umask(previous)
    return {file.name: digest(file) for file in sorted((folder / "dist").iterdir())}


def build_twice() -> int:
    """Build two clones, print each file's digest, and return 1 if one differs."""
    with tempfile.TemporaryDirectory() as name:
        first = built_elsewhere(Path(name) / "a", 0o022, TZ="UTC", LC_ALL="C", PYTHONHASHSEED="1")
        second = built_elsewhere(
            Path(name) / "another folder", 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", PYTHONHASHSEED="2"
        )
    for file in sorted(first.keys() | second.keys()):
        one, other = first.get(file, "not built"), second.get(file, "not built")
        print(f"{one}  {file}" if one == other else f"DIFFERS: {file}: {one}, then {other}")
    return int(first != second)


def main() -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist", help="the folder (dist)")
    parser.add_argument("--twice", action="store_true", help="build two clones instead, and compare them")
    args = parser.parse_args()
    if args.twice:
        return build_twice()
    build(args.outdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
