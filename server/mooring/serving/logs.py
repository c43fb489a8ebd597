"""How lines of the log look: as text, or as JSON with the keys of Kubernetes' components.

Mirrors ``--logging-format`` of ``k8s.io/component-base/logs``. Verbosity N is the level ``logging.INFO - N``.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

FORMATS: Final = ("text", "json")
_NAMES: Final = {"uvicorn.error": "uvicorn"}
"""uvicorn writes everything, errors or not, to a logger of this name."""


def formatter(format_name: str) -> logging.Formatter:
    """Return the formatter of a ``--logging-format``."""
    return JsonFormatter() if format_name == "json" else TextFormatter()


def printable(text: str) -> str:
    """``text`` with control characters escaped: names and reasons from elsewhere stay one plain line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class TextFormatter(logging.Formatter):
    """``TIME LEVEL LOGGER: MESSAGE`` in one line, the time as RFC 3339 in UTC; a traceback follows below."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(origin)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the base class's
        moment = datetime.fromtimestamp(record.created, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class's name
        record.origin = _origin(record)
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the base class's name
        # The text of an exception may come from a client: no line of it may look like an entry.
        return "\n".join(f"    {printable(line)}" for line in super().formatException(ei).splitlines())


class JsonFormatter(logging.Formatter):
    """One object a line: ``ts`` in milliseconds since 1970, ``caller``, ``logger``, ``msg``, and more.

    Entries that aren't errors have ``v``, which is 0 for warnings, too: ``severity`` tells them apart. Errors
    have ``err`` if an exception was caught, and ``stacktrace``.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 4),
            "caller": f"{record.filename}:{record.lineno}",
            "logger": _origin(record),
            "severity": record.levelname if record.levelno > logging.INFO else "INFO",
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            entry["v"] = max(logging.INFO - record.levelno, 0)
        if record.exc_info and record.exc_info[1] is not None:
            entry["err"] = str(record.exc_info[1])
            entry["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _origin(record: logging.LogRecord) -> str:
    return _NAMES.get(record.name, record.name)
