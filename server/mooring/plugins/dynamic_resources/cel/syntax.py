"""The grammar: an expression's text to a tree.

Mirrors the part of CEL's grammar that selectors use: operators, selections, indices, calls, lists and
literals of int, string and bool. Operators become calls under the names that cel-go gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<int>0x[0-9a-fA-F]+|\d+)(?![\w.])
  | (?P<string>"(?:[^"\\\n]|\\["'\\nrt])*"|'(?:[^'\\\n]|\\["'\\nrt])*')(?!["'])
  | (?P<raw>[rR](?:"[^"\n]*"|'[^'\n]*'))(?!["'])
  | (?P<name>[A-Za-z_]\w*)(?!["'])
  | (?P<sign>&&|\|\||[=!<>]=|\[\?|\.\?|[-+*/%<>!?:()\[\].,])
)""",
    re.VERBOSE | re.ASCII,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_RELATIONS = {"==", "!=", "<", "<=", ">", ">=", "in"}
_JUNCTIONS = {"||", "&&"}
_LEVELS = {
    sign: level
    for level, signs in enumerate((["||"], ["&&"], _RELATIONS, ["+", "-"], ["*", "/", "%"]))
    for sign in signs
}
_RESERVED = {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
_RESERVED |= {"namespace", "null", "package", "return", "var", "void", "while"}
_MAX_NESTED = 100
_MAX_DEPTH = 250
"""cel-go's limit of both is 250; Python's stack cannot hold that many nested expressions."""
_MACROS = {"all", "exists", "exists_one", "filter", "map"}
_MAX_LOOPS = 2


_LONGEST_TEXT = 300
"""The most characters that an error quotes."""


class UnsupportedExpressionError(ValueError):
    """The expression is not CEL, or uses a part of CEL that is not supported; the message names it.

    Args:
        what: The part, cut where it is long: an expression may have 10 kB.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what if len(what) <= _LONGEST_TEXT else f"{what[:_LONGEST_TEXT]} ...")


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: bool, int or str."""

    value: bool | int | str


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier."""

    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of ``operand``: ``operand.key`` or ``operand[key]``.

    Attributes:
        selected: It was written with a dot.
        optional: It was written with a question mark, so that a missing entry is not an error.
    """

    operand: Node
    key: Node
    selected: bool
    optional: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function of ``arguments``; a method's target is the first of them.

    All sides that the same ``&&`` or ``||`` joins are the arguments of one call.
    """

    function: str
    arguments: tuple[Node, ...]
    method: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]


Node = Literal | Name | Entry | Call | Items


def literals(node: Node) -> list[bool | int | str] | None:
    """Return the values of a list of constants; None for an empty list and for all else."""
    items = node.items if isinstance(node, Items) else ()
    values = [item.value for item in items if isinstance(item, Literal)]
    return values if 0 < len(values) == len(items) else None


def parse(text: str) -> Node:
    """Parse ``text`` into a tree; raises UnsupportedExpressionError if it can't be read."""
    parser = _Parser(list(_tokens(text)))
    tree = parser.expression()
    parser.expect("end")
    _limit_depth(tree)
    return tree


def _limit_depth(tree: Node) -> None:
    """Reject what nests too many operators, calls or selections."""
    level: Sequence[Node] = (tree,)
    for _ in range(_MAX_DEPTH + 1):
        level = [part for node in level for part in _parts(node)]
    if level:
        raise UnsupportedExpressionError(f"operators or calls nested deeper than {_MAX_DEPTH}")


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Entry):
        return node.operand, node.key
    if isinstance(node, Call):
        return node.arguments
    return node.items if isinstance(node, Items) else ()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each token; the kind of a sign is the sign itself."""
    text = text.rstrip()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnsupportedExpressionError(f"can't read {text[at : at + 20].strip()!r}")
        kind, found = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "name" and found in _RESERVED:
            raise UnsupportedExpressionError(f"the word {found!r}")
        yield (found, found) if kind == "sign" or found == "in" else (kind, found)
        at = match.end()
    yield "end", "the end"


class _Parser:
    """Reads tokens from left to right; every method stops after the tokens that it read."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = self._loops = 0

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_NESTED:
            raise UnsupportedExpressionError(f"expressions nested deeper than {_MAX_NESTED}")
        condition = self._binary()
        if self._take("?"):
            yes = self._binary()
            self.expect(":")
            condition = Call("_?:_", (condition, yes, self.expression()))
        self._depth -= 1
        return condition

    def _binary(self, least: int = 0) -> Node:
        """Operators of the level ``least`` and of those that bind tighter."""
        left = self._unary()
        while _LEVELS.get(sign := self._tokens[self._at][0], -1) >= least:
            name = "@in" if sign == "in" else f"_{sign}_"
            sides = [left]
            while self._take(sign):
                sides.append(self._binary(_LEVELS[sign] + 1))
            left = (
                Call(name, tuple(sides))
                if sign in _JUNCTIONS
                else reduce(lambda left, right: Call(name, (left, right)), sides)
            )
        return left

    def _unary(self) -> Node:
        for sign in ("!", "-"):
            if self._take(sign):
                kind, text = self._tokens[self._at]
                if kind == sign:
                    raise UnsupportedExpressionError(f"a repeated {sign!r}")
                if sign == "-" and kind == "int":
                    self._next()
                    return self._members(_integer(-int(text, 0) if "x" in text else -int(text)))
                return Call(f"{sign}_", (self._members(self._primary()),))
        return self._members(self._primary())

    def _members(self, operand: Node) -> Node:
        while True:
            if self._take("."):
                name = self.expect("name")
                if self._take("("):
                    self._loops += name in _MACROS
                    if self._loops > _MAX_LOOPS:
                        raise UnsupportedExpressionError(f"macros nested deeper than {_MAX_LOOPS}")
                    operand = Call(name, (operand, *self._arguments(")")), method=True)
                    self._loops -= name in _MACROS
                else:
                    operand = Entry(operand, Literal(name), selected=True, optional=False)
            elif self._take(".?"):
                operand = Entry(operand, Literal(self.expect("name")), selected=True, optional=True)
            elif self._take("["):
                operand = self._index(operand, optional=False)
            elif self._take("[?"):
                operand = self._index(operand, optional=True)
            else:
                return operand

    def _index(self, operand: Node, *, optional: bool) -> Node:
        key = self.expression()
        self.expect("]")
        return Entry(operand, key, selected=False, optional=optional)

    def _primary(self) -> Node:
        if self._take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self._take("["):
            return Items(self._arguments("]"))
        kind, text = self._tokens[self._at]
        if kind not in ("int", "string", "raw", "name"):
            raise UnsupportedExpressionError(f"{text!r} where a value should be")
        self._next()
        if kind == "int":
            return _integer(int(text, 16) if "x" in text else int(text))
        if kind == "string":
            return Literal(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1]))
        if kind == "raw":
            return Literal(text[2:-1])
        if text in ("true", "false"):
            return Literal(text == "true")
        return Call(text, self._arguments(")")) if self._take("(") else Name(text)

    def _arguments(self, end: str) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while not self._take(end):
            if arguments:
                self.expect(",")
            arguments.append(self.expression())
        return tuple(arguments)

    def expect(self, kind: str) -> str:
        if self._tokens[self._at][0] != kind:
            raise UnsupportedExpressionError(f"{self._tokens[self._at][1]!r} where {kind!r} should be")
        return self._next()

    def _take(self, kind: str) -> bool:
        found = self._tokens[self._at][0] == kind
        self._at += found
        return found

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]


def _integer(value: int) -> Literal:
    if not -(2**63) <= value < 2**63:
        raise UnsupportedExpressionError(f"{value} is outside int64")
    return Literal(value)
