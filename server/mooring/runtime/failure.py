"""The words about a pod that has no node. Mirrors ``handleSchedulingFailure`` in ``schedule_one.go``."""

from __future__ import annotations

NOTE_LIMIT = 1024
"""The longest note of an event, in bytes."""

_ENDING = b" ..."


def event_note(message: str) -> str:
    """The note of the event FailedScheduling: the condition's ``message``, cut where it is too long."""
    text = message.encode()
    if len(text) <= NOTE_LIMIT:
        return message
    return (text[: NOTE_LIMIT - len(_ENDING)] + _ENDING).decode(errors="ignore")
