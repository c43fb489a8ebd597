"""The Go program around Karpenter's own code (main.go)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

SOURCE = Path(__file__).parent
MODULE, VERSION = "sigs.k8s.io/karpenter", "v1.15.0"
FOLDER = Path(".cache/karpenter")

_GO_LINE = re.compile(r"^go [0-9.]+$", re.MULTILINE)


def build() -> Path:
    """Compile it, some minutes when Go has compiled nothing before.

    It is built within a copy of Karpenter's module, so that it is what Karpenter's own ``go.sum`` says.
    """
    folder = FOLDER.absolute() / f"{MODULE}@{VERSION}"
    program = FOLDER.absolute() / f"karpenter-{VERSION}"
    if not folder.exists():
        with ZipFile(_module()) as module:
            module.extractall(FOLDER)
        mod = folder / "go.mod"
        installed = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True)
        asked = f"go {installed.stdout.strip().removeprefix('go')}"
        mod.write_text(_GO_LINE.sub(asked, mod.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "beside").mkdir(exist_ok=True)
    shutil.copyfile(SOURCE / "main.go", folder / "beside" / "main.go")
    subprocess.run(["go", "build", "-o", program, "./beside"], cwd=folder, check=True)
    return program


def _module() -> Path:
    """Return the module's file in Go's module cache."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    # It ends with 1 where it says that this Go is too old, and has the file nonetheless.
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return Path(found["Zip"])
