"""The licences of all locked packages and of those inside the page, in ``requirements/licences.toml``.

Without an argument they are printed by licence. ``--check`` fails if a package has no row, if a licence is
not allowed, or if the installed package's own statement differs. ``--write`` brings the rows up to date.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from tools.supply.locks import FOLDER, locked, names

FILE = FOLDER / "licences.toml"
NAME = re.compile(r"[A-Za-z0-9.-]+")
OPERATORS = {"AND", "OR", "WITH"}
# Other spellings in packages. "BSD" is missing, as it leaves the number of clauses open.
SPELLED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "GPL-3.0": "GPL-3.0-only",
    "ISC license": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT Licence": "MIT",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def stated(package: str) -> str:
    """Return an installed package's own licence as an SPDX expression; "" = it is unclear."""
    try:
        about = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return ""
    if "License-Expression" in about:
        return about["License-Expression"]
    text = (about.get_all("License") or [""])[0]
    classifiers = (one.split(" :: ") for one in about.get_all("Classifier") or ())
    said = [text.partition("\n")[0], *(one[-1] for one in classifiers if one[0] == "License")]
    spdx = (SPELLED.get(one, one) for one in said)
    return next((one for one in spdx if one in SPELLED.values()), "")


def read() -> dict[str, Any]:
    """Return the file: ``allowed``, ``allowed_tools``, and rows in ``packages`` and ``page``."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def packages(*requirements: str) -> set[str]:
    """Return the names that these lock files contain."""
    return {one.name for name in requirements for one in locked(name)}


def faults(listed: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong, a line each."""
    shipped = packages(*(set(names()) - {"build", "dev", "docs"}))
    rows: dict[str, str] = listed["packages"]
    for package in sorted(rows.keys() - packages(*names())):
        yield f"{package}: no lock file names it; remove its row"
    for package in sorted(packages(*names())):
        row, said = rows.get(package, ""), stated(package)
        if not row:
            yield f"{package}: no row; `make licences` adds it, or read its licence and add it by hand"
        elif said not in ("", row):
            yield f"{package}: the row says {row}, the package says {said}"
        also = [] if package in shipped else listed["allowed_tools"]
        yield from _forbidden(package, row, [*listed["allowed"], *also])
    for package, row in listed["page"].items():
        yield from _forbidden(package, row, listed["allowed"])


def _forbidden(package: str, row: str, allowed: list[str]) -> Iterator[str]:
    if unknown := [one for one in NAME.findall(row) if one not in OPERATORS and one not in allowed]:
        yield f"{package}: {', '.join(unknown)} is not in the list of allowed licences"


def write(listed: Mapping[str, Any]) -> None:
    """Write the rows of ``packages`` again; a row stays if its package's statement is unclear."""
    kept: dict[str, str] = listed["packages"]
    found = {package: stated(package) or kept.get(package, "") for package in sorted(packages(*names()))}
    head, _, _ = FILE.read_text(encoding="utf-8").partition("[packages]\n")
    rows = "".join(f'{package} = "{row}"\n' for package, row in found.items() if row)
    FILE.write_text(f"{head}[packages]\n{rows}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="print what is wrong; exit code 1 if there is anything"
    )
    parser.add_argument("--write", action="store_true", help="bring the rows up to date, then check")
    args = parser.parse_args(arguments)
    if args.write:
        write(read())
    if args.check or args.write:
        wrong = list(faults(read()))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return int(bool(wrong))
    listed = read()
    everything = listed["packages"] | listed["page"]
    for licence in sorted(set(everything.values())):
        print(f"{licence}: {', '.join(name for name, row in everything.items() if row == licence)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
