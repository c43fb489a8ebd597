"""Writes the packages of the image, all in the lock file, as a CycloneDX document; mooring is not among them.

Every package in the image comes from that file, with hashes, so it is the whole list of Python packages.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import mooring

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
NAME = "mooring-scheduler"


def sbom(locked: str) -> dict[str, Any]:
    """Return the document for the text of a lock file."""
    own = {"name": NAME, "version": mooring.__version__, "purl": f"pkg:pypi/{NAME}@{mooring.__version__}"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", **own}},
        "components": [
            {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
            for name, version in PINNED.findall(locked)
        ],
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write the image's packages as CycloneDX 1.5.")
    parser.add_argument("--requirements", default="fast", help="the image's build argument (default: fast)")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    locked = (ROOT / "requirements" / f"{args.requirements}.txt").read_text(encoding="utf-8")
    args.output.write_text(json.dumps(sbom(locked), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
