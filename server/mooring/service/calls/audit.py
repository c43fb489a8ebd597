"""The audit log: a line for each call that reserves, frees or binds pods, or that changes a source.

The logger is ``mooring.audit``, the level INFO. What is rejected before anything is tried has no line.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from mooring.framework import Code, Status
from mooring.framework.errors import MooringError

log = logging.getLogger("mooring.audit")

PODS_A_LINE: Final = 50
"""Some 7 kB, which log collectors don't split."""


class Line:
    """A line that is written when a commit ends. Set ``outcome`` for another word than "OK"."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome = "OK"


@contextmanager
def committing(call: str, client: str, pod: str, uid: str, node: str = "") -> Iterator[Line]:
    """Write the line of a commit when it ends, with the error's reason when it fails."""
    line = Line()
    try:
        yield line
    except MooringError as error:
        line.outcome = error.reason
        raise
    except BaseException as error:
        line.outcome = type(error).__name__
        raise
    finally:
        committed(call, client, pod, uid, node, line.outcome)


def committed(call: str, client: str, pod: str, uid: str, node: str, outcome: str) -> None:
    """Write that ``client`` ("" = it has no name) committed a pod, by namespace/name and UID."""
    log.info(
        "%s client=%s pod=%s uid=%s node=%s: %s", call, client or "-", pod, uid or "-", node or "-", outcome
    )


def committed_together(
    call: str, client: str, pods: Iterable[tuple[str, str, str, str]], outcome: str = "OK"
) -> None:
    """Write that ``call`` did the same for all these pods: namespace, name, UID and node of each.

    PODS_A_LINE share a line: a line each would take as long as the commit itself.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    told = [f"pod={namespace}/{name} uid={uid} node={node}" for namespace, name, uid, node in pods]
    for start in range(0, len(told), PODS_A_LINE):
        some = " ".join(told[start : start + PODS_A_LINE])
        log.info("%s client=%s %s: %s", call, client or "-", some, outcome)


def pushed(call: str, client: str, source: str, outcome: str) -> None:
    """Write that ``client`` changed the objects of a source."""
    log.info("%s client=%s source=%s: %s", call, client or "-", source, outcome)


def word(status: Status) -> str:
    """Return the outcome for a status: its code, and the reason of an error."""
    return "OK" if status.ok else " ".join((status.code.name, *status.reasons[: status.code is Code.ERROR]))
