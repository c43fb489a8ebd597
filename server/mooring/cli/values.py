"""Parsers of flags' values, with errors that say what is wrong."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from mooring.app.options import IN_FLIGHT
from mooring.framework import KubeVersion
from mooring.serving.grammar import boolean

Kind = Callable[[str], Any]
"""Parses a value; raises ArgumentTypeError for an invalid one."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def words(text: str) -> list[str]:
    """Return the values in a text, separated by commas."""
    return [value for value in text.split(",") if value]


def positive(text: str) -> int:
    """Parse an integer above 0."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def count(text: str) -> int:
    """Parse an integer, 0 or more."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def in_flight(text: str) -> str:
    """Parse what calls do about pods in flight."""
    if text not in IN_FLIGHT:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(IN_FLIGHT)}")
    return text


def port(text: str) -> int:
    """Parse a port number, 0 to 65535."""
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """Parse a time, 0 or more, in seconds or Kubernetes' form: ``5``, ``0.5s``, ``500ms``, ``1m30s``."""
    given = text if any(map(str.isalpha, text)) else f"{text}s"
    pieces = _DURATION.findall(given)
    if not pieces or "".join(map("".join, pieces)) != given:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 5, 0.5s or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in pieces)


def metrics_prefix(text: str) -> str:
    """Parse what the names of metrics begin with, such as ``scheduler``."""
    if not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9]*(_[a-zA-Z0-9]+)*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the beginning of a metric's name")
    return text


def above_zero(text: str) -> float:
    """Parse a time as ``seconds`` does, above 0."""
    value = seconds(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time above zero")
    return value


def seed(text: str) -> int:
    """Parse an integer from 0 to 2**64 - 1."""
    if not (text.isascii() and text.isdecimal() and int(text) < 2**64):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**64-1")
    return int(text)


def verbosity(text: str) -> int:
    """0 to 10; ``-v=4`` is taken as ``-v 4``."""
    level = text.removeprefix("=")
    if not (level.isascii() and level.isdecimal() and int(level) <= 10):
        raise argparse.ArgumentTypeError(f"{level!r} is not a number from 0 to 10")
    return int(level)


def one_of(*words: str) -> Kind:
    """Return what parses one of these words; ``-o=json`` is taken as ``-o json``."""

    def word(text: str) -> str:
        given = text.removeprefix("=")
        if given not in words:
            raise argparse.ArgumentTypeError(f"{given!r} is not one of {', '.join(filter(None, words))}")
        return given

    return word


def feature_gates(text: str) -> dict[str, bool]:
    """``Name=true,Other=false``."""
    gates = {}
    for pair in words(text):
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise argparse.ArgumentTypeError(f"{pair!r} is not NAME=true or NAME=false")
        gates[name] = boolean(value)
    return gates


def kube_version(text: str) -> str:
    """Parse a Kubernetes release such as 1.36."""
    try:
        return str(KubeVersion.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
