"""Parsers of flags' values, with errors that say what is wrong."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from mooring.framework import KubeVersion
from mooring.serving.addresses import ListenError, split
from mooring.serving.grammar import boolean, seconds_of

Kind = Callable[[str], Any]
"""Parses a value; raises ArgumentTypeError for an invalid one."""


def words(text: str) -> list[str]:
    """Return the values in a text, separated by commas."""
    return [value for value in text.split(",") if value]


def _whole(least: int, most: float, what: str) -> Callable[[str], int]:
    """Return what parses a whole number within bounds, which ``what`` names in the error."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a {what}")
        return int(text)

    return number


positive = _whole(1, math.inf, "whole number above zero")
count = _whole(0, math.inf, "whole number")
port = _whole(0, 65535, "port from 0 to 65535")
seed = _whole(0, 2**64 - 1, "whole number from 0 to 2**64-1")
_level = _whole(0, 10, "number from 0 to 10")


def seconds(text: str) -> float:
    """Parse a time, 0 or more, in seconds or Kubernetes' form: ``5``, ``0.5s``, ``500ms``, ``1m30s``."""
    value = seconds_of(text if any(map(str.isalpha, text)) else f"{text}s")
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 5, 0.5s or 1m30s")
    return value


def host_and_port(text: str) -> str:
    """Take an address of the form HOST:PORT, or none."""
    try:
        if text:
            split(text)
    except ListenError:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT") from None
    return text


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


def verbosity(text: str) -> int:
    """0 to 10; ``-v=4`` is taken as ``-v 4``."""
    return _level(text.removeprefix("="))


def one_of(*words: str) -> Kind:
    """Return what parses one of these words; ``-o=json`` is taken as ``-o json``."""

    def word(text: str) -> str:
        given = text.removeprefix("=")
        if given not in words:
            raise argparse.ArgumentTypeError(f"{given!r} is not one of {', '.join(filter(None, words))}")
        return given

    word.words = words  # type: ignore[attr-defined] # shells complete these
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


def mapping(text: str) -> Mapping[str, Any]:
    """Read a YAML mapping; "" is an empty one."""
    from mooring.documents import read_document

    try:
        value = read_document(text) if text else {}
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not YAML: {error}") from None
    if not isinstance(value, Mapping):
        raise argparse.ArgumentTypeError(f"{text!r} is not a mapping, such as {{label: example.com/rack}}")
    return value
