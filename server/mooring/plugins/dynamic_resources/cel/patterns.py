"""Regular expressions as Go has them, for ``matches()``.

It reads https://pkg.go.dev/regexp/syntax without Unicode classes, named groups, quoting, and flags after the
start.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from mooring.plugins.dynamic_resources.cel.automaton import (
    WORD,
    Automaton,
    Emit,
    Step,
    Test,
    append,
    either,
    look,
    one,
    repeat,
    sequence,
)
from mooring.plugins.dynamic_resources.cel.syntax import UnsupportedExpressionError

_MAX_REPEATS = 1000
"""For a count, and for the product of counts that are in each other, as in Go."""

_MAX_DEPTH = 50
_PERL = {"d": frozenset(string.digits), "w": WORD, "s": frozenset("\t\n\f\r ")}
_POSIX = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "digit": frozenset(string.digits),
    "lower": frozenset(string.ascii_lowercase),
    "punct": frozenset(string.punctuation),
    "space": frozenset("\t\n\v\f\r "),
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLACES = {"A": "^", "z": "$", "b": "b", "B": "B"}
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_COUNTS = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")


class Pattern(Automaton):
    """A compiled regular expression. Serves many threads."""

    def __init__(self, text: str) -> None:
        """Parse ``text``; raise UnsupportedExpressionError if it is not a supported pattern."""
        super().__init__(_PatternReader(text).steps())


class _PatternReader:
    """Reads a pattern from left to right; every method stops after the text that it read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._depth = 0
        # The most repetitions of the part that was read last, by all counts in it and its own.
        self._repeats = 1
        self._folds = self._any_newline = False
        self._tests: dict[str, Test] = {}

    def steps(self) -> Sequence[Step]:
        """Return the steps; the first is the beginning, the last means success."""
        if self._text[:2] == "(?" and self._text[2:3] in ("i", "s"):
            flags, found, _ = self._text[2:].partition(")")
            if not found or set(flags) - {"i", "s"}:
                raise _unsupported(f"(?{flags[:10]}")
            self._folds, self._any_newline = "i" in flags, "s" in flags
            self._at = len(flags) + 3
        emit = self._alternatives()
        if self._at < len(self._text):
            raise _unsupported(self._peek())
        steps: list[Step] = []
        emit(steps)
        append(steps, Step(()))
        return steps

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += len(sign) * found
        return found

    def _next(self) -> str:
        if not self._peek():
            raise _unsupported("the end")
        self._at += 1
        return self._text[self._at - 1]

    def _alternatives(self) -> Emit:
        found, repeats = [self._branch()], self._repeats
        while self._take("|"):
            found.append(self._branch())
            repeats = max(repeats, self._repeats)
        self._repeats = repeats
        return either(found)

    def _branch(self) -> Emit:
        parts, repeats = [], 1
        while self._peek() not in ("", "|", ")"):
            part = self._piece()
            if self._is_count():
                part = repeat(part, *self._count())
            repeats = max(repeats, self._repeats)
            parts.append(part)
        self._repeats = repeats
        return sequence(parts)

    def _is_count(self) -> bool:
        """Return whether a count is next; a brace that begins none stands for itself."""
        return self._peek() in _REPEATS or _COUNTS.match(self._text, self._at) is not None

    def _count(self) -> tuple[int, int | None]:
        """At least and at most how often the piece before may stand there."""
        form = _COUNTS.match(self._text, self._at)
        if form is None:
            least, most = _REPEATS[self._next()]
        else:
            least = int(form[1])
            most = int(form[3]) if form[3] else None if form[2] else least
            if max(least, most or 0) > _MAX_REPEATS or (most is not None and most < least):
                raise _unsupported(form[0])
            self._at = form.end()
            self._repeats *= max(least if most is None else most, 1)
            if self._repeats > _MAX_REPEATS:
                raise _unsupported(form[0])
            if most == 0:
                self._repeats = 1
        self._take("?")
        if self._is_count():
            raise _unsupported("a repeated repetition")
        return least, most

    def _piece(self) -> Emit:
        if self._is_count():
            raise _unsupported(self._peek())
        began, sign = self._at, self._next()
        if sign == "(":
            if self._take("?") and not self._take(":"):
                raise _unsupported("(?")
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise _unsupported("a deep group")
            inner = self._alternatives()
            if not self._take(")"):
                raise _unsupported("a group without an end")
            self._depth -= 1
            return inner
        self._repeats = 1
        if sign in "^$":
            return look(sign)
        if sign == "\\" and self._peek() in _PLACES:
            return look(_PLACES[self._next()])
        test = self._test(sign)
        return one(self._tests.setdefault(self._text[began : self._at], test))

    def _test(self, sign: str) -> Test:
        """Return the test that ``sign`` begins, which was just read."""
        if sign == ".":
            return (lambda _: True) if self._any_newline else (lambda character: character != "\n")
        return self._class() if sign == "[" else self._meant(sign)

    def _meant(self, sign: str) -> Test:
        """Return what ``sign``, just read, stands for: itself, or after a backslash what follows."""
        found = self._escaped() if sign == "\\" else sign
        return self._fold(lambda character: character == found) if isinstance(found, str) else found

    def _fold(self, test: Test) -> Test:
        return (lambda character: any(map(test, _alike(character)))) if self._folds else test

    def _held(self, held: frozenset[str], wanted: bool) -> Test:
        test = self._fold(held.__contains__)
        return test if wanted else lambda character: not test(character)

    def _escaped(self) -> str | Test:
        """Return the character that is meant, or the class."""
        sign = self._next()
        if sign.lower() in _PERL:
            return self._held(_PERL[sign.lower()], sign.islower())
        if sign in _CONTROLS or sign in string.punctuation:
            return _CONTROLS.get(sign, sign)
        raise _unsupported(f"\\{sign}")

    def _class(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        while not tests or not self._take("]"):
            tests.append(self._member())
        return lambda character: any(test(character) for test in tests) != negated

    def _member(self) -> Test:
        """One entry of a class; a ``]`` that comes first and a ``-`` without a range stand for themselves."""
        if self._take("[:"):
            name, found, _ = self._text[self._at :].partition(":]")
            wanted = not name.startswith("^")
            held = _POSIX.get(name.removeprefix("^"))
            if not found or held is None:
                raise _unsupported("[:")
            self._at += len(name) + 2
            return self._held(held, wanted)
        low = self._bound()
        if not isinstance(low, str):
            return low
        high = low
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
            self._next()
            bound = self._bound()
            if not isinstance(bound, str) or bound < low:
                raise _unsupported("a range without an end")
            high = bound
        return self._fold(lambda character: low <= character <= high)

    def _bound(self) -> str | Test:
        sign = self._next()
        return self._escaped() if sign == "\\" else sign


def _alike(character: str) -> set[str]:
    """Return the characters that differ from it in case alone."""
    small = character.casefold()
    if len(small) != 1:
        return {character}
    further = {"k": "\u212a", "s": "\u017f"}.get(small, "")
    return {character, small, small.upper() if len(small.upper()) == 1 else small, *further}


def _unsupported(what: str) -> UnsupportedExpressionError:
    return UnsupportedExpressionError(f"{what!r} in a pattern")
