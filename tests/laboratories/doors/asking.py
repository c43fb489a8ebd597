"""mooring's commands, run in this process: a thousand times they would mostly wait for Python to start."""

from __future__ import annotations

import io
import json
import logging
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from mooring.cli import main


@dataclass(frozen=True)
class Answer:
    """The result of a command.

    Attributes:
        code: Its exit code.
        out: Its standard output.
        complaints: Its standard error.
    """

    code: int
    out: str
    complaints: str

    @property
    def document(self) -> Any:
        """Return its standard output, for programs."""
        return json.loads(self.out)


def ask(*argv: object) -> Answer:
    """Run one command; the logging that it sets up ends with it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as complaints:
        try:
            code = main(argv=[str(word) for word in argv])
        except SystemExit as end:
            code = int(str(end.code))
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    return Answer(code, out.getvalue(), complaints.getvalue())
