"""The grammar of the flags of every command here, of mooring's own too: how a switch is written."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
from typing import Any, Final, NoReturn

from mooring.serving.logs import FORMATS

SWITCH: Final = "[=BOOL]"
"""The value after a switch, as help shows it."""


_UNRECOGNIZED: Final = "unrecognized arguments: "
_INVALID_CHOICE: Final = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
_QUOTED: Final = re.compile(r"[\w-]+")

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


class SwitchParser(argparse.ArgumentParser):
    """Takes a bare ``--switch`` as ``--switch=true`` and never takes the next word for its value."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        switches = {
            name for action in self._actions if action.type is boolean for name in action.option_strings
        }
        words = list(args)
        if all(action.option_strings for action in self._actions):
            for word, following in itertools.pairwise(words):
                if word in switches and following in ("true", "false"):
                    self.error(f"{word} {following}: a switch has its value behind =, {word}={following}")
        given = [f"{word}=true" if word in switches else word for word in words]
        return super().parse_known_args(given, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all; the given command reports unknown arguments, with its own flags."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            _command_of(self, found).error(f"{_UNRECOGNIZED}{' '.join(unknown)}")
        return found

    def error(self, message: str) -> NoReturn:
        """End with the one line that matters, and what may have been meant."""
        self.exit(2, f"{self.prog}: error: {message}{self._meant(message)}\nsee `{self.prog} --help`\n")

    def _meant(self, message: str) -> str:
        """Return a question about a command or flags that are nearly spelt like what a message names."""
        if wrong := _INVALID_CHOICE.search(message):
            given, known = [wrong[1]], _QUOTED.findall(wrong[2])
        elif message.startswith(_UNRECOGNIZED):
            given = [word.partition("=")[0] for word in message.removeprefix(_UNRECOGNIZED).split()]
            given, known = [word for word in given if word.startswith("--")], _options(self)
        else:
            return ""
        meant = (match for word in given for match in difflib.get_close_matches(word, known, 1))
        names = " ".join(meant)
        return f"; did you mean {names}?" if names else ""

    def format_usage(self) -> str:
        return super().format_usage().replace(f" {SWITCH}", SWITCH)

    def format_help(self) -> str:
        # argparse puts a blank between a flag and its value; the texts behind stay in their column.
        text = super().format_help().replace(f" {SWITCH}  ", f"{SWITCH}   ")
        return text.replace(f" {SWITCH}", SWITCH)


def _command_of(parser: SwitchParser, found: argparse.Namespace) -> SwitchParser:
    """Return the parser of the command that was given."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
            below: SwitchParser | None = action.choices.get(getattr(found, action.dest))
            return _command_of(below, found) if below else parser
    return parser


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the flags of a parser and of its commands."""
    found: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        found += action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
            for below in action.choices.values():
                found += _options(below)
    return found


def boolean(text: str) -> bool:
    """Return what ``true`` or ``false`` means."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def seconds_of(text: str) -> float | None:
    """Return the seconds of a duration as Kubernetes writes it, such as 2s, 500ms or 1m30s; None for none."""
    pieces = _PIECE.findall(text)
    if not pieces or "".join(map("".join, pieces)) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in pieces)


def logging_format(text: str) -> str:
    """Return either ``text`` or ``json``."""
    if text not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(FORMATS)}")
    return text
