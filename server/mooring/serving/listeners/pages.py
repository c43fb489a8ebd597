"""Pages of an HTTP listener, the right to read them, and Kubernetes' pages about a component.

The latter mirror ``/configz`` of ``k8s.io/component-base`` and ``/statusz`` and ``/flagz`` of
``k8s.io/apiserver/pkg/server``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import yaml

PLAIN: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
YAML: Final = "application/yaml"

GROUP, VERSION = "config.k8s.io", "v1beta1"


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """A response: a status, the body's media type, the body."""

    status: HTTPStatus
    kind: str
    body: bytes


Page = Callable[[str], PageAnswer]
"""Answers a request whose Accept header is this; "" = none. Any thread."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request, as far as its authorization needs it.

    Attributes:
        verb: ``get``.
        path: Without what follows ``?``.
        authorization: The header of that name; "" = none.
        certificate: The client's verified certificate, as ``getpeercert`` gives it; empty = none.
    """

    verb: str
    path: str
    authorization: str
    certificate: Mapping[str, Any]


Gatekeeper = Callable[[PageRequest], PageAnswer | None]
"""The rejection of a request, None when it may be answered. Any thread; may wait for a while."""


def rejection(status: HTTPStatus, message: str) -> PageAnswer:
    """Return an answer that is a ``Status`` of Kubernetes."""
    reason = status.phrase.replace(" ", "")
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    body = {**said, "message": message, "reason": reason, "code": int(status)}
    return PageAnswer(status, JSON, json.dumps(body).encode())


def configz(document: Callable[[], Mapping[str, Any]]) -> Page:
    """Return the page with the configuration in force."""

    def page(_accept: str) -> PageAnswer:
        return PageAnswer(HTTPStatus.OK, JSON, json.dumps({"componentconfig": document()}).encode())

    return page


def flagz(component: str, flags: Mapping[str, str]) -> Page:
    """Return the page with the flags and their values."""
    text = "".join(f"{name}={value}\n" for name, value in flags.items())
    return lambda accept: _negotiated(accept, "Flagz", component, text, {"flags": dict(flags)})


def statusz(component: str, version: str, emulated: str, paths: tuple[str, ...]) -> Page:
    """Since when it runs, in which version, and which pages there are; it starts to run now."""
    started, began = datetime.now(UTC).replace(microsecond=0), time.monotonic()

    def answer(accept: str) -> PageAnswer:
        up = int(time.monotonic() - began)
        text = (
            f"Started: {started:%a %b %e %H:%M:%S} UTC {started:%Y}\n"
            f"Up: {up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec\n"
            f"Binary version: {version}\nEmulation version: {emulated}\nPaths: {' '.join(paths)}\n"
        )
        fields = {
            "startTime": started.isoformat().replace("+00:00", "Z"),
            "uptimeSeconds": up,
            "goVersion": "",
            "binaryVersion": version,
            "emulationVersion": emulated,
            "paths": list(paths),
        }
        return _negotiated(accept, "Statusz", component, text, fields)

    return answer


def _negotiated(accept: str, kind: str, component: str, text: str, fields: Mapping[str, Any]) -> PageAnswer:
    """Text for people, or the object that programs ask for by group, version and kind."""
    for offer in accept.split(",") if accept.strip() else ("*/*",):
        media, *rest = (part.strip() for part in offer.split(";"))
        asked = dict(part.split("=", 1) for part in rest if "=" in part)
        if media in ("text/plain", "text/*", "*/*"):
            return PageAnswer(HTTPStatus.OK, PLAIN, f"\n{component} {kind.lower()}\n{_HINT}\n{text}".encode())
        whole = (asked.get("g"), asked.get("v"), asked.get("as")) == (GROUP, VERSION, kind)
        if media in (JSON, YAML) and whole:
            head = {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {"name": component}}
            document = {**head, **fields}
            body = json.dumps(document) if media == JSON else yaml.safe_dump(document)
            return PageAnswer(HTTPStatus.OK, f"{media};g={GROUP};v={VERSION};as={kind}", body.encode())
    return rejection(
        HTTPStatus.NOT_ACCEPTABLE,
        f"there are text/plain, and {JSON} and {YAML} with ;g={GROUP};v={VERSION};as={kind}",
    )


_HINT: Final = "For people: content and format may change with any version.\n"
