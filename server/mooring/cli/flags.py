"""Flags in kube style, each with a twin in the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from mooring.framework import KubeVersion

ENVIRONMENT_PREFIX = "MOORING_"

Kind = Callable[[str], Any]


class Flags:
    """Adds flags to a parser; ``--health-listen`` has the twin ``MOORING_HEALTH_LISTEN``."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser

    def add(self, name: str, metavar: str, default: str, text: str, kind: Kind = str) -> None:
        """A flag with one value. A bad value in the environment is a usage error too."""
        shown = f" (default: {default})" if default else ""
        self.parser.add_argument(
            f"--{name}", type=kind, default=_twin(name) or default, metavar=metavar, help=text + shown
        )

    def many(self, name: str, metavar: str, text: str) -> None:
        """A flag that can be repeated; its twin separates the values by commas."""
        twin = _twin(name)
        self.parser.add_argument(
            f"--{name}",
            action="append",
            default=twin.split(",") if twin else [],
            metavar=metavar,
            help=f"{text}; can be repeated",
        )

    def switch(self, name: str, text: str) -> None:
        """A flag that is on or off: ``--name``, ``--name=true``, ``--name=false``."""
        self.parser.add_argument(
            f"--{name}",
            type=boolean,
            nargs="?",
            const=True,
            default=_twin(name) or "false",
            metavar="BOOL",
            help=text,
        )


def _twin(name: str) -> str:
    return os.environ.get(ENVIRONMENT_PREFIX + name.upper().replace("-", "_"), "")


def boolean(text: str) -> bool:
    """Either ``true`` or ``false``."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def positive(text: str) -> int:
    """A whole number above zero."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seconds(text: str) -> float:
    """A time in seconds, 0 or more; ``s`` may follow."""
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in seconds, such as 5 or 0.5s")
    return value


def seed(text: str) -> int:
    """A number below 2**64."""
    if not (text.isascii() and text.isdecimal() and int(text) < 2**64):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**64-1")
    return int(text)


def verbosity(text: str) -> int:
    """0 to 10."""
    if not (text.isascii() and text.isdecimal() and int(text) <= 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 10")
    return int(text)


def feature_gates(text: str) -> dict[str, bool]:
    """``Name=true,Other=false``."""
    gates = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{pair!r} is not NAME=true or NAME=false")
        gates[name] = boolean(value)
    return gates


def kube_version(text: str) -> str:
    """A Kubernetes release such as 1.36."""
    try:
        return str(KubeVersion.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_verbosity(flags: Flags) -> None:
    """``-v``, as kube-scheduler's."""
    flags.parser.add_argument(
        "-v",
        "--v",
        type=verbosity,
        default=_twin("v") or "0",
        metavar="LEVEL",
        help="log verbosity: 2 = effective plugins, 4 = rejections, 10 = every score (default: 0)",
    )


def add_deciding(flags: Flags) -> None:
    """What every command that decides takes."""
    flags.add("config", "FILE", "", "KubeSchedulerConfiguration; without one the default profile")
    flags.many("plugin", "MODULE:CLASS", "register this plugin class")
    flags.add("kube-version", "VERSION", "1.36", "Kubernetes release whose behaviour to follow", kube_version)
    flags.add("feature-gates", "GATES", "", "Name=true,... where they differ from the release", feature_gates)
    add_verbosity(flags)
