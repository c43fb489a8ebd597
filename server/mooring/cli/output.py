"""How commands end, and what programs read of them; ``console`` is for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from mooring.serving.logs import printable


class Exit(IntEnum):
    """How commands end."""

    OK = 0
    INVALID = 1
    FAILED = 1
    """Another replica leads, or something broke: as kube-scheduler, which is started again then."""

    USAGE = 2
    UNSCHEDULED = 3
    PREEMPTS = 4
    """The pod runs once others are preempted."""


class UsageError(Exception):
    """Flags that don't go together; the command ends with ``Exit.USAGE``."""


def worst(codes: Iterable[int]) -> int:
    """Return how a command about several pods ends, given how it would end about each."""
    return max(codes, key=(Exit.OK, Exit.PREEMPTS, Exit.FAILED, Exit.UNSCHEDULED).index, default=Exit.OK)


def print_json(document: Any) -> None:
    """Print a document, indented, on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def print_document(form: str, document: Any) -> None:
    """Print a document as ``json`` or ``yaml`` on standard output."""
    if form == "json":
        print_json(document)
        return
    from mooring.documents import write_documents

    print(write_documents(document), end="")


def complain(text: object) -> None:
    """Print an error on standard error; each line of it can stand alone."""
    for line in str(text).splitlines():
        print(f"mooring: {printable(line)}", file=sys.stderr)


def print_ready(listeners: Mapping[str, str]) -> None:
    """Print the line with which a program that serves says where it does."""
    addresses = " ".join(f"{name}={address or 'none'}" for name, address in listeners.items())
    print(f"mooring ready: {addresses}", flush=True)
