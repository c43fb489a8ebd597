"""The grammar of the flags of every command here, of mooring's own too: how a switch is written."""

from __future__ import annotations

import argparse
import itertools
from typing import Any, Final

from mooring.serving.logs import FORMATS

SWITCH: Final = "[=BOOL]"
"""What a switch may be followed by, as help shows it."""


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

    def format_usage(self) -> str:
        return super().format_usage().replace(f" {SWITCH}", SWITCH)

    def format_help(self) -> str:
        # argparse puts a blank between a flag and its value; the texts behind stay in their column.
        text = super().format_help().replace(f" {SWITCH}  ", f"{SWITCH}   ")
        return text.replace(f" {SWITCH}", SWITCH)


def boolean(text: str) -> bool:
    """Return what ``true`` or ``false`` means."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def logging_format(text: str) -> str:
    """Return either ``text`` or ``json``."""
    if text not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(FORMATS)}")
    return text
