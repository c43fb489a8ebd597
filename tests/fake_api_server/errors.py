"""Rejections as the API server writes them."""

from __future__ import annotations

import json


class RejectedError(Exception):
    """An answer with a ``Status`` that says no."""

    def __init__(self, code: int, reason: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after

    def status(self) -> bytes:
        """Return the body."""
        return json.dumps(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": str(self),
                "reason": self.reason,
                "code": self.code,
            }
        ).encode()


def not_found(resource: str, name: str) -> RejectedError:
    return RejectedError(404, "NotFound", f'{resource} "{name}" not found')


def exists(resource: str, name: str) -> RejectedError:
    return RejectedError(409, "AlreadyExists", f'{resource} "{name}" already exists')


def conflict(resource: str, name: str, why: str) -> RejectedError:
    return RejectedError(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": {why}')


def modified(resource: str, name: str) -> RejectedError:
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def other_uid(resource: str, name: str, wanted: str, found: str) -> RejectedError:
    return conflict(
        resource, name, f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )


def immutable(kind: str, name: str, path: str, value: str) -> RejectedError:
    return RejectedError(
        422, "Invalid", f'{kind} "{name}" is invalid: {path}: Invalid value: "{value}": field is immutable'
    )
