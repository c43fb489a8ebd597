"""Writes what an installation weighs into docs/figures/install.md, package by package.

It installs mooring with the locked versions into a clean virtual environment, and adds up the files of each
package, bytecode included.
"""

import re
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "figures" / "install.md"
MARKED = re.compile(r"(<!-- install: begin -->\n).*(<!-- install: end -->)", re.DOTALL)
LEAST_MB = 1.0
"""Packages below this are listed together."""


def install(environment: Path) -> None:
    """Install mooring and what it needs."""
    venv.create(environment, with_pip=True)
    pip = (environment / "bin" / "pip", "--disable-pip-version-check", "--quiet", "install")
    locked = ROOT / "requirements" / "run.txt"
    subprocess.run([*pip, "--require-hashes", "--requirement", locked], check=True)
    subprocess.run([*pip, "--no-deps", ROOT], check=True)


def sizes(environment: Path) -> dict[str, float]:
    """Return the megabytes of each package, by name; what came with the environment is left out."""
    (folder,) = environment.glob("lib/python3*/site-packages")
    found: dict[str, float] = {}
    for package in distributions(path=[str(folder)]):
        files = [Path(str(file.locate())) for file in package.files or ()]
        found[package.name] = sum(file.stat().st_size for file in files if file.is_file()) / 1e6
    for name in ("pip", "setuptools"):
        found.pop(name, None)
    return found


def table(found: dict[str, float]) -> str:
    """Return the table as Markdown, the largest package first."""
    large = sorted((name for name in found if found[name] >= LEAST_MB), key=found.__getitem__, reverse=True)
    total = sum(found.values())
    rest = total - sum(found[name] for name in large)
    lines = [f"| {name} | {found[name]:.1f} |" for name in large]
    lines.append(f"| {len(found) - len(large)} others | {rest:.1f} |")
    lines.append(f"| **{len(found)} packages** | **{total:.0f}** |")
    return "\n".join(["| package | MB |", "|---|---|", *lines, ""])


def main() -> None:
    """Install, measure, and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder)
        install(environment)
        written = table(sizes(environment))
    text = PAGE.read_text(encoding="utf-8")
    if not MARKED.search(text):
        sys.exit(f"{PAGE} has no place for the table")
    PAGE.write_text(MARKED.sub(rf"\g<1>{written}\g<2>", text), encoding="utf-8")


if __name__ == "__main__":
    main()
