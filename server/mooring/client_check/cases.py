"""The cases: commands for a client, the calls that must arrive, their answers, and the lines to print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
Transport = Literal["plain", "tls", "tls-stranger", "mtls", "mtls-anonymous", "unix"]
"""A stranger's certificate is of another authority; an anonymous client has none."""


class Failing(msgspec.Struct, forbid_unknown_fields=True):
    """A failed call.

    Attributes:
        code: The name of the gRPC code.
        reason: The name of an ``ErrorReason`` without its prefix, or a number that has none; "" = no details.
        metadata: The reason's.
        fields: The fields that are wrong, with ``field`` and ``description``.
    """

    code: str
    reason: str | int = ""
    metadata: dict[str, str] = {}
    fields: list[dict[str, str]] = []
    message: str = "as the case says"


class Serving(msgspec.Struct, forbid_unknown_fields=True):
    """A call that must arrive, and its answer.

    Attributes:
        request: The required part of the request.
        reply: The answer, as protobuf JSON.
        messages: The messages of a stream.
        fail: How it fails, after the messages of a stream.
        reset: The HTTP/2 code of the RST_STREAM frame that ends the call, as a proxy sends it; "" = none.
        drop: Whether the connection is cut, or the number of bytes of the answer after which it is.
        hang: Whether it never ends, so that the client has to end it.
        delay: Seconds before the answer.
        times: How often; "some" is once or more often.
        at: The server at which it arrives.
    """

    method: str
    request: Json = {}
    reply: Json | None = None
    messages: list[Json] = []
    fail: Failing | None = None
    reset: Literal["", "REFUSED_STREAM", "CANCEL", "INTERNAL_ERROR", "ENHANCE_YOUR_CALM"] = ""
    drop: bool | int = False
    hang: bool = False
    delay: float = 0
    times: int | Literal["some"] = 1
    at: Literal["server", "leader"] = "server"


class CaseStep(msgspec.Struct, forbid_unknown_fields=True):
    """A command and its result.

    Attributes:
        do: The command.
        expect: The required part of the driver's line.
        serve: The calls that arrive meanwhile.
        restart: Seconds for which the server is gone.
    """

    do: Json
    expect: Json
    serve: list[Serving] = []
    restart: float = 0


class ContractCase(msgspec.Struct, forbid_unknown_fields=True):
    """One case.

    Attributes:
        name: Unique among all.
        about: The behaviour, in a sentence.
        server: ``sample`` is a real one on the sample cluster.
        transport: How the client connects.
        arguments: More arguments of the driver.
    """

    name: str
    about: str
    steps: list[CaseStep]
    server: Literal["scripted", "sample"] = "scripted"
    transport: Transport = "plain"
    arguments: list[str] = []


def cases() -> list[ContractCase]:
    """Return all cases, in the order of their files."""
    folder = files("mooring.client_check") / "cases"
    found = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name
    )
    return [case for file in found for each in json.loads(file.read_bytes()) for case in _expanded(each)]


def _expanded(document: Json) -> Iterator[ContractCase]:
    """Yield a case for each of its variants."""
    variants = document.pop("each", [{}])
    for variant in variants:
        made = _filled(document, variant)
        if variant:
            made["name"] = f"{made['name']} ({', '.join(map(str, variant.values()))})"
        yield msgspec.convert(made, ContractCase)


def _filled(value: Any, variant: Mapping[str, Any]) -> Any:
    """Return a document with the variant's values, and its ranges written out."""
    match value:
        case {"$range": [str(form), int(count)]}:
            return [form.format(number) for number in range(count)]
        case {"$range": int(count)}:
            return list(range(count))
        case {"$repeat": [member, int(count)]}:
            return [member] * count
        case dict():
            return {key: _filled(each, variant) for key, each in value.items()}
        case list():
            return [_filled(each, variant) for each in value]
        case str():
            for key, text in variant.items():
                if value == f"{{{{{key}}}}}":
                    return text
                value = value.replace(f"{{{{{key}}}}}", str(text))
    return value


def differences(expected: Any, found: Any, saved: Json, path: str = "") -> Iterator[str]:
    """Yield a line for each place at which ``found`` lacks something that is expected.

    Args:
        expected: A value, or an object with a key that begins with ``$``.
        found: The value to judge.
        saved: Takes the values to save.
        path: Where both are.
    """
    match expected:
        case {"$save": str(name)}:
            saved[name] = found
        case {"$use": str(name)}:
            yield from differences(saved.get(name), found, saved, path)
        case {"$unordered": list(members)} if isinstance(found, list):
            yield from differences(sorted(members, key=shown), sorted(found, key=shown), saved, path)
        case dict() if any(key.startswith("$") for key in expected):
            if not _matches(expected, found):
                yield f"{path}: expected {shown(expected)}, found {shown(found)}"
        case dict() if isinstance(found, dict):
            for key, value in expected.items():
                yield from differences(value, found.get(key), saved, f"{path}.{key}".lstrip("."))
        case list() if isinstance(found, list) and len(found) == len(expected):
            for number, (one, other) in enumerate(zip(expected, found, strict=True)):
                yield from differences(one, other, saved, f"{path}[{number}]")
        case _ if not _equal(expected, found):
            yield f"{path}: expected {shown(expected)}, found {shown(found)}"


def _matches(expected: Json, found: Any) -> bool:
    match expected:
        case {"$any": _}:
            return True
        case {"$in": list(allowed)}:
            return found in allowed
        case {"$least": least}:
            return isinstance(found, int | float) and bool(found >= least)
        case {"$match": str(pattern)}:
            return isinstance(found, str) and bool(re.search(pattern, found))
        case {"$count": count}:
            return isinstance(found, list | dict) and len(found) == count
    return False


def used(value: Any, saved: Json) -> Any:
    """Return a command with the saved values in their places."""
    match value:
        case {"$use": str(name)}:
            return saved[name]
        case dict():
            return {key: used(each, saved) for key, each in value.items()}
        case list():
            return [used(each, saved) for each in value]
    return value


def _equal(expected: Any, found: Any) -> bool:
    """Compare numbers as numbers: protobuf JSON has those of 64 bits as strings."""
    if isinstance(expected, int) and not isinstance(expected, bool) and isinstance(found, str):
        return found == str(expected)
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return bool(expected == found)


def shown(value: Any) -> str:
    """Return a value as JSON for people, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
