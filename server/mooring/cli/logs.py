"""Logging: klog's levels on the standard library's."""

from __future__ import annotations

import logging
import sys

from mooring.cli.output import printable


def configure(verbosity: int) -> None:
    """Log to standard error; level N of klog is ``logging.INFO - N``, so 10 is DEBUG."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO - verbosity, handlers=[handler], force=True)
    for level in range(1, 11):
        if level != logging.DEBUG:
            logging.addLevelName(logging.INFO - level, f"V{level}")


class _OneLine(logging.Formatter):
    """Keeps names from elsewhere from breaking the log: control characters are escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class's name
        return printable(super().formatMessage(record))
