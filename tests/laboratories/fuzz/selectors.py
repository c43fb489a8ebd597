"""CEL on devices, quantities and patterns. The first line of an input says which of them it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random

from mooring.framework.objects.devices import Device, DeviceAttribute, DeviceCapacity
from mooring.framework.quantity import MAX_INT64, NANO, QuantityError, millis, parse_quantity, units
from mooring.plugins.dynamic_resources.cel import (
    EvaluationError,
    UnsupportedExpressionError,
    compile_selector,
)
from mooring.plugins.dynamic_resources.cel.device import device_scope
from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import changed_bytes

DRIVER = "gpu.example.com"
OWN = f'device.attributes["{DRIVER}"]'
ATTRIBUTES = {
    "model": DeviceAttribute(string="a100-sxm"),
    "index": DeviceAttribute(int=7),
    "healthy": DeviceAttribute(bool=True),
    "version": DeviceAttribute(version="1.2.3-rc.1"),
}
SCOPES = (
    device_scope(
        DRIVER, Device(name="d", attributes=ATTRIBUTES, capacity={"memory": DeviceCapacity(value="40Gi")})
    ),
    device_scope(DRIVER, Device(name="e")),
)
EXPRESSIONS = (
    f'device.driver == "{DRIVER}" && {OWN}.model.startsWith("a100")',
    f"{OWN}.index in [1, 7, 9] || !{OWN}.healthy",
    f'{OWN}.version.isGreaterThan(semver("1.0.0")) && {OWN}.version.major() == 1',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("10Gi")) >= 0',
    f'{OWN}.?model.orValue("x").matches("^a[0-9]+(-(sxm|pcie))?$")',
    f"has({OWN}.model) ? {OWN}.index > 3 : false",
    "[1, 2, 3].filter(x, x > 1).map(x, x * 2).exists(x, x == 4)",
    "[1,2,3].all(x, [4,5].exists_one(y, y - x == 1)) == false",
    f"cel.bind(d, {OWN}, d.model.size() + d.index > 2 && d.model != 'b')",
    "cel.bind(a, 'xy', cel.bind(b, a + a, (b + b).replace('x', 'yy').contains('yyy')))",
    "device.driver.split('.').join('-').upperAscii().lastIndexOf('G') == 0",
    "device.attributes.exists(d, d == 'gpu.example.com')",
    'isQuantity("1e3") && quantity("1e3").sub(quantity("1k")).sign() == 0',
    "string(int('7') % 4 / 1) == \"3\" && -7 - -(1) < 0",
    "device.allowMultipleAllocations == false && device.driver.substring(1, 3).trim().lowerAscii() != r'\\d'",
    '("a" + "b" == \'ab\') != true || 1 <= 2 && "x" < "y"',
)
QUANTITIES = (
    "1",
    "250m",
    "1.5Gi",
    "3e2",
    "-1",
    "0",
    "+.5",
    "1.",
    "12E",
    "1E3",
    "100n",
    "9223372036854775807",
    "1e-9",
)
PATTERNS = (
    "^a+(b|c)*$",
    r"[\w.-]{2,5}",
    "(?i)a[^b-d]?",
    r"\bx\b.*?y",
    "(a|(b|c)){3}",
    "[[:alpha:]]+|$",
    "a{0,10}b",
)
TOKENS = (
    *(
        b"cel.bind(a, ",
        b"device",
        b".all(x, ",
        b".map(x, x)",
        b".filter(x, true)",
        b"has(",
        b"matches('",
        b"[1,2]",
    ),
    *(
        b"==",
        b"!=",
        b"<=",
        b"&&",
        b"||",
        b"!",
        b"-",
        b"?",
        b":",
        b"in",
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b"'",
    ),
    *(
        b'"',
        b'"""',
        b"r'",
        b"b'",
        b"\\u00e9",
        b"\\x",
        b"null",
        b"true",
        b"1u",
        b"1.5",
        b"0x7f",
        b"9223372036854775808",
    ),
    *(
        b".?",
        b"[?",
        b".orValue(1)",
        b"quantity('1')",
        b"semver('1.0.0')",
        b"*",
        b"+",
        b"{2,9}",
        b"{1000}",
        b"(?:",
        b"(?i)",
    ),
    *(
        b"[^",
        b"\\d",
        b"\\pL",
        b"\xc3\xa9",
        b"\xff",
        b"\0",
        b"//",
        b"((((((((((((((((((((",
        b"-" * 40,
        b"!" * 40,
        b"a?" * 30,
    ),
)
TEXTS = ("", "a", "ab", "aab", "x y", "é", "a" * 200 + "b", "a\n", "A100")


@cache
def seeds() -> tuple[bytes, ...]:
    """Return some of each."""
    forms = (("selector", EXPRESSIONS), ("quantity", QUANTITIES), ("pattern", PATTERNS))
    return tuple(f"{kind}\n{text}".encode() for kind, texts in forms for text in texts)


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return another text of the same kind."""
    head, _, body = data.partition(b"\n")
    alike = [other.partition(b"\n")[2] for other in others if other.startswith(head)]
    if dice.random() < 0.2 and head == b"selector":
        body = b"%s %s %s" % (body, dice.choice((b"&&", b"||", b"==", b"+")), dice.choice(alike))
    return head + b"\n" + changed_bytes(dice, body, alike or others, TOKENS)


def _selector(text: str) -> bool:
    try:
        selector = compile_selector(text)
    except UnsupportedExpressionError as error:
        check_text(str(error))
        return False
    for scope in SCOPES:
        try:
            check(isinstance(selector.matches(scope), bool), "a selector says neither yes nor no")
        except EvaluationError as error:
            check_text(str(error))
    return True


def _quantity(text: str) -> bool:
    try:
        nanos = parse_quantity(text)
    except QuantityError as error:
        check_text(str(error))
        return False
    check(abs(nanos) <= MAX_INT64 * NANO, "a quantity beyond int64")
    check(abs(units(nanos)) <= MAX_INT64 and abs(millis(nanos)) <= MAX_INT64, "a value beyond int64")
    return True


def _pattern(text: str) -> bool:
    try:
        pattern = Pattern(text)
    except UnsupportedExpressionError as error:
        check_text(str(error))
        return False
    for searched in TEXTS:
        try:
            pattern.found_in(searched)
        except EvaluationError as error:
            check_text(str(error))
    return True


JUDGES = {"selector": _selector, "quantity": _quantity, "pattern": _pattern}


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a few devices and texts."""

    def judge(data: bytes) -> bool:
        head, _, body = data.partition(b"\n")
        # The API takes UTF-8 alone.
        text = body.decode(errors="replace")
        form = JUDGES.get(head.decode(errors="replace"))
        return form is not None and form(text)

    yield judge


TARGET = Target("selectors", "CEL, quantities, patterns", seeds, change, judging)
