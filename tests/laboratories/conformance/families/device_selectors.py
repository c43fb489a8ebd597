"""Random CEL expressions on devices, most of which hold for some device."""

from __future__ import annotations

from collections.abc import Callable

from tests.laboratories.conformance.families.device_pools import DOMAIN, DRIVERS, ROOMS
from tests.laboratories.conformance.families.draft import Draft

NAMES = ["numa", "model"]
MACROS = ["exists", "all", "exists_one"]
PATTERNS = ["100$", "^(a|h)", "(?i)t4", "[0-9]{3}", "^r[12]$", "^$", "x|y"]


def condition(draft: Draft, depth: int = 0) -> str:
    """Return an expression of type bool; ``depth`` is how many others it is part of."""
    simple: list[Callable[[Draft], str]] = [_guarded, _guarded, _guarded, _plain, _bare, _bound]
    nested = [_joined, _joined, _negated, _chosen]
    if depth < 2 and draft.chance(0.45):
        return draft.rng.choice(nested)(draft, depth + 1)
    return draft.rng.choice(simple)(draft)


def _domain(draft: Draft, field: str = "attributes") -> str:
    return f'device.{field}["{draft.rng.choice([*DRIVERS, DOMAIN, DOMAIN])}"]'


def _entry_of(draft: Draft) -> tuple[str, str]:
    domain = _domain(draft)
    names = ["numa", "rack"] if DOMAIN in domain else ["model", "index", "healthy", "firmware"]
    return domain, draft.rng.choice([*names, *names, "missing"])


def _guarded(draft: Draft) -> str:
    domain, name = _entry_of(draft)
    guard = draft.rng.choice([f"has({domain}.{name})", f'"{name}" in {domain}'])
    return f"{guard} && {_test(draft, f'{domain}.{name}')}"


def _bare(draft: Draft) -> str:
    """Fail on a device without the attribute."""
    domain, name = _entry_of(draft)
    if draft.chance(0.6):
        return f"has({domain}.{name})"
    if draft.chance(0.5):
        default = draft.rng.choice(['"x"', "1", "true"])
        return f"{domain}.?{name}.orValue({default}) == {default}"
    return _test(draft, draft.rng.choice([f"{domain}.{name}", f'{domain}["{name}"]']))


def _test(draft: Draft, value: str) -> str:
    name = value.rstrip('"]').rpartition(".")[2].rpartition('"')[2]
    rng = draft.rng
    if draft.chance(0.1):
        name = rng.choice(["model", "index", "healthy", "firmware"])
    if name == "healthy":
        return rng.choice([value, f"{value} == true", f"!{value}", f"{value} != false"])
    if name == "firmware":
        version = f'semver("{rng.choice(["1.2.3", "1.9.0", "2.0.0-rc.2", "2.0.0"])}")'
        return rng.choice(
            [
                f"{value}.isGreaterThan({version})",
                f"{value}.compareTo({version}) >= 0",
                f"{value} == {version}",
                f"{value} != {version}",
                f"{version} == {value}",
                f"{value}.major() == 2",
                f"{value}.minor() < 10",
            ]
        )
    if name in ("index", "numa"):
        number = rng.choice([0, 1, 2, -3])
        sign = rng.choice(["==", "!=", "<", "<=", ">", ">="])
        return rng.choice(
            [
                f"{value} {sign} {number}",
                f"{value} in [0, 1]",
                f"{value} % 2 == {number}",
                f"{value} * 2 - 1 {sign} {number}",
                f"-{value} / 2 {sign} {number}",
                f"[0, 2, 5].{rng.choice(MACROS)}(n, {value} / n {sign} {number})",
                f"{value} + {value} {sign} {number}",
            ]
        )
    text = rng.choice(["a100", "h100", "T4", "r1", "10"])
    return rng.choice(
        [
            f'{value} == "{text}"',
            f"{value} != '{text}'",
            f'{value} in ["{text}", "T4"]',
            f'{value}.startsWith("{text[0]}")',
            f'{value}.endsWith("00") || {value}.contains("{text[1]}")',
            f'{value} < "{text}"',
            f"size({value}) > 2",
            f'{value} + "!" == "{text}!"',
            f'{value}.lowerAscii() in ["t4", "{text}"]',
            f'["{text}", "T4"].{rng.choice(["exists", "all"])}(m, {value} != m)',
            f'["{text}"].exists(m, {value}.startsWith(m) || m == "T4")',
            f'{value}.upperAscii().startsWith("{text[0].upper()}")',
            f"{value}.matches('{rng.choice(PATTERNS)}')",
            f"{value}.lowerAscii().matches(r'^.*{text}.*$')",
            f'{value}.split("{rng.choice("10r")}").{rng.choice(MACROS)}(part, part == "{text[0]}")',
            f'{value}.split("0").filter(part, part != "").map(part, size(part)).exists(n, n > 1)',
            f'{value}.replace("{text[0]}", "").trim() + {value}.substring(1) != "{text}"',
            f'{value}.indexOf("0") > {value}.lastIndexOf("{text[0]}")',
            f'{value}.split("1")[{rng.choice([0, 0, 1])}] != "{text[0]}"',
            f'int({value}.substring(1)) >= 100 || string({value}) == "{text}"',
            f'{value}.charAt(2) == {value}.split("").join()',
        ]
    )


def _plain(draft: Draft) -> str:
    rng = draft.rng
    capacity = _domain(draft, "capacity")
    name = "lanes" if DOMAIN in capacity else "memory"
    room = f'quantity("{rng.choice(ROOMS)}")'
    return rng.choice(
        [
            f'device.driver == "{rng.choice(DRIVERS)}"',
            f'device.driver in ["{DRIVERS[0]}", "x"]',
            "device.allowMultipleAllocations",
            f'"{DOMAIN}" in device.attributes',
            "true",
            f"{capacity}.{name}.compareTo({room}) >= 0",
            f"{_domain(draft)}.{rng.choice(MACROS)}(key, key.startsWith('{rng.choice('mihfn')}'))",
            f"device.attributes.{rng.choice(MACROS)}(k, '{rng.choice(NAMES)}' in device.attributes[k])",
            f"{capacity}.{name}.sub({room}).add(1).isGreaterThan(quantity('0'))",
            f"size({capacity}) == {rng.choice([0, 1])}",
            f"{name!r} in {capacity} && {capacity}.{name}.isLessThan({room})",
            f"has({capacity}.{name}) && {capacity}.{name} == {room}",
            f"{capacity}.?{name}.orValue(quantity('0')).isGreaterThan({room})",
            'isQuantity("5Gi") && !isSemver("1.0")',
        ]
    )


def _joined(draft: Draft, depth: int) -> str:
    left, right = condition(draft, depth), condition(draft, depth)
    return f"({left}) {draft.rng.choice(['&&', '||'])} ({right})"


def _negated(draft: Draft, depth: int) -> str:
    return f"!({condition(draft, depth)})"


def _chosen(draft: Draft, depth: int) -> str:
    parts = [f"({condition(draft, depth)} || false)" for _ in range(3)]
    return f"{parts[0]} ? {parts[1]} : {parts[2]}"


def _bound(draft: Draft) -> str:
    domain, name = _entry_of(draft)
    return f"cel.bind(d, {domain}, has(d.{name}) && {_test(draft, f'd.{name}')})"
