"""Run pip and say what it does while it does it: ``python tools/install.py ARGUMENTS``, those of pip install.

pip itself is silent, or prints several lines for each package. This tool prints every two seconds how many
packages pip has found, and when it writes their files. On a terminal it keeps to one line. In a log it
adds a line for each new step.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import deque

EVERY_SECONDS = 2.0
KEPT_LINES = 30
"""The last lines of pip, which are printed if it fails."""


class Progress:
    """The work that pip does, from its lines."""

    def __init__(self) -> None:
        self.doing = "starting pip"
        self._packages = 0

    def read(self, line: str) -> None:
        """Take a line of pip."""
        if found := re.match(r"\s*Collecting ([\w.-]+)", line):
            self._packages += 1
            self.doing = f"package {self._packages}: {found[1]}"
        elif line.startswith("Installing collected packages"):
            count = line.count(",") + 1
            self.doing = f"writing the files of {count} package{'s' if count > 1 else ''}"
        elif found := re.match(r"\s*(Building|Preparing|Getting requirements)\b.*", line):
            self.doing = line.strip().split(": ")[0].lower()


def tell(progress: Progress, ended: threading.Event) -> None:
    """Say what is done, until ``ended``."""
    began, told, terminal = time.monotonic(), "", sys.stdout.isatty()
    while not ended.wait(EVERY_SECONDS):
        if terminal:
            print(f"\r\033[K  {time.monotonic() - began:.0f} s  {progress.doing}", end="", flush=True)
        elif told != progress.doing:
            print(f"  {time.monotonic() - began:.0f} s  {progress.doing}", flush=True)
        told = progress.doing
    if terminal and told:
        print("\r\033[K", end="", flush=True)


def main() -> int:
    """Install; the exit code is pip's."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    progress, ended = Progress(), threading.Event()
    with subprocess.Popen(
        [*command, *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        teller = threading.Thread(target=tell, args=(progress, ended))
        teller.start()
        for line in pip.stdout or ():
            lines.append(line)
            progress.read(line)
        code = pip.wait()
        ended.set()
        teller.join()
    if code:
        sys.stderr.writelines(lines)
    return code


if __name__ == "__main__":
    sys.exit(main())
