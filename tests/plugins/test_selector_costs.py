"""The cost of selectors: a claim that any user may make must not stop scheduling."""

from __future__ import annotations

from functools import partial

import pytest

from mooring.framework.objects.devices import Device, DeviceAttribute, DeviceCapacity
from mooring.plugins.dynamic_resources.cel import (
    EvaluationError,
    UnsupportedExpressionError,
    compile_selector,
    costs,
)
from mooring.plugins.dynamic_resources.cel.device import device_scope
from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from tests.counted_calls import calls_of

DRIVER = "gpu.example.com"
SCOPE = device_scope(
    DRIVER,
    Device(
        name="d",
        attributes={
            "model": DeviceAttribute(string="a100"),
            "index": DeviceAttribute(int=7),
            "version": DeviceAttribute(version="1.2.3"),
        },
        capacity={"memory": DeviceCapacity(value="40Gi")},
    ),
)
OWN = f'device.attributes["{DRIVER}"]'
MEMORY = f'device.capacity["{DRIVER}"].memory'
LONG = "a" * 1000
OPTIONAL_900 = "a?" * 900 + "b"
LETTERS = f"'{'a' * 64}'.split('')"


def nested_binds(levels: int, uses: int) -> str:
    """Evaluated at each use, ``uses ** levels`` evaluations."""
    binds = "".join(f"cel.bind(b{i + 1},{'+'.join([f'b{i}'] * uses)}," for i in range(levels))
    return f"cel.bind(b0,1,{binds}b{levels}>0{')' * (levels + 1)}"


def doubled(times: int) -> str:
    binds = "".join(f"cel.bind(b{i + 1}, b{i} + b{i}, " for i in range(times))
    return f"cel.bind(b0, '0123456789', {binds}b{times}.size() > 0{')' * (times + 1)}"


@pytest.mark.parametrize(
    ("expression", "value", "cost"),
    [
        # EvalDetails.ActualCost() of k8s.io/dynamic-resource-allocation 0.36.3 for this device.
        pytest.param(nested_binds(12, 8), True, 182, id="a value is evaluated once"),
        pytest.param(
            f"cel.bind(a, ('{LONG}' + '{LONG}').substring(9999) == '', a || a || true)",
            True,
            402,
            id="an error is remembered",
        ),
        pytest.param("cel.bind(a, 1 / 0, true)", True, 0, id="a value that is not used"),
        pytest.param(
            f"cel.bind(a, '{LONG}' + device.driver, a).startsWith('b')", False, 207, id="bound once"
        ),
        pytest.param(f"device.driver.matches('{OPTIONAL_900}')", False, 904, id="a long pattern"),
        pytest.param(
            f"'{'a' * 60}'.matches('{OPTIONAL_900}')", False, 3157, id="a long pattern and a constant"
        ),
        pytest.param(f'{OWN}.model == "a100"', True, 5, id="an attribute"),
        pytest.param(f"has({OWN}.model)", True, 3, id="has"),
        pytest.param(f"{OWN}.?model.orValue('x') == 'x'", False, 5, id="optional"),
        pytest.param("device.attributes.all(x, true)", True, 6, id="keys"),
        pytest.param("[1,2,3].filter(x, false).size() == 0", True, 3, id="items that are dropped"),
        pytest.param("[1,2,3].exists_one(x, false)", False, 2, id="none"),
        pytest.param("[1,2,3].map(x, 1).size() == 3", True, 9, id="map"),
        pytest.param(f"[1].map(x, '{LONG}').join('').startsWith('b')", False, 303, id="join"),
        pytest.param("[1,2,3].all(x, [1,2,3].all(y, x > 0 && y > 0))", True, 76, id="loops"),
        pytest.param(
            f"'{'a' * 60}'.split('').filter(x, false).size() == 0", True, 15, id="a list that is made"
        ),
        pytest.param("[size(device.driver), 1, 2][1] == 1", True, 16, id="a list"),
        pytest.param(f"1 in {[*range(100)]}", True, 0, id="in constants"),
        pytest.param("'g' in device.driver.split('')", True, 20, id="in a list"),
        pytest.param("int('7') == 7 && string(7) == '7'", True, 2, id="conversions"),
        pytest.param(f"('{LONG}' + '{LONG}').startsWith('b')", False, 400, id="a sum of texts"),
        pytest.param(f"'{LONG}' < '{LONG}'", False, 100, id="order"),
        pytest.param(
            "device.driver.substring(3).trim().startsWith('.ex') && device.driver.indexOf('e') > 1",
            True,
            12,
            id="texts",
        ),
        pytest.param(
            f"{MEMORY}.compareTo(quantity('10Gi')) > 0 && isQuantity('1')", True, 8, id="quantities"
        ),
        pytest.param(f"{OWN}.version.isGreaterThan(semver('1.0.0'))", True, 7, id="versions"),
        pytest.param(doubled(13), True, 16411, id="texts that grow"),
        pytest.param(" && ".join(["true"] * 1000), True, 0, id="a chain"),
    ],
)
def test_nothing_is_rejected_that_kube_scheduler_evaluates(
    expression: str, value: bool, cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "MAX_COST", cost)
    assert compile_selector(expression).matches(SCOPE) is value


@pytest.mark.parametrize(
    "expression",
    [
        # Kubernetes' own evaluation ends in the same way.
        pytest.param(doubled(20), id="texts that grow"),
        pytest.param(f"{doubled(20)} || true", id="beside what would do"),
        pytest.param(
            f"{LETTERS}.all(x, {LETTERS}.all(y, device.driver.matches('{'a?' * 400}c') || true))", id="loops"
        ),
    ],
)
def test_what_costs_too_much_is_ended(expression: str) -> None:
    with pytest.raises(EvaluationError, match="operation cancelled: actual cost limit exceeded"):
        compile_selector(expression).matches(SCOPE)


def test_a_text_never_grows_beyond_what_may_be_gone_through() -> None:
    """At the cost of 2,000, without the limit, the third replacement would have 10 ** 12 characters."""
    text = f"'{LONG}'.replace('', '{LONG}')"
    with pytest.raises(EvaluationError, match="a result of more than 10000000 characters"):
        compile_selector(f"cel.bind(a, {text}, a.replace('', a).size() > 0)").matches(SCOPE)


def test_each_part_is_evaluated_once() -> None:
    """Each filter() has the one before it as its target."""
    chain = "[1]" + ".filter(x, true)" * 12 + ".size() == 1"
    selector = compile_selector(chain)
    assert calls_of(lambda: selector.matches(SCOPE)) < 500


def test_the_clock_is_looked_at_within_an_evaluation() -> None:
    def check_time() -> None:
        raise TimeoutError

    loops = f"{LETTERS}.all(x, {LETTERS}.all(y, true))"
    assert compile_selector(loops).matches(SCOPE)
    with pytest.raises(TimeoutError):
        compile_selector(loops).matches(SCOPE, check_time)
    long = f"('{LONG}' + device.driver).matches('b')"
    with pytest.raises(TimeoutError):
        compile_selector(long).matches(SCOPE, check_time)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param(OPTIONAL_900, DRIVER, id="optional"),
        pytest.param(OPTIONAL_900, "a" * 64, id="optional and there"),
        pytest.param("(a|b)*a(a|b){300}$", "ab" * 500, id="many ways at once"),
        pytest.param(r"^(\w*\b\w*)*$", "word " * 20, id="places"),
    ],
)
def test_a_character_is_a_look_into_a_table(pattern: str, text: str) -> None:
    compiled = Pattern(pattern)
    found = compiled.found_in(text)
    assert calls_of(lambda: compiled.found_in(text)) <= 2 * len(text) + 10
    assert compiled.found_in(text) is found


@pytest.mark.parametrize(
    "pattern",
    [pytest.param(OPTIONAL_900, id="letters"), pytest.param("[a-z]?" * 900 + "[0-9]", id="classes")],
)
def test_a_new_character_is_tested_once_for_all_that_repeats(pattern: str) -> None:
    """Each device may have other characters, so that no table knows them."""
    compiled = Pattern(pattern)
    compiled.found_in("-")
    texts = ["".join(chr(start + at) for at in range(64)) for start in (0x400, 0x4E00, 0x5E00)]
    for text in texts:
        assert calls_of(partial(compiled.found_in, text)) < 20 * len(text)


def test_the_clock_is_looked_at_within_a_short_text() -> None:
    looks: list[None] = []
    Pattern("b").found_in("a" * 64, lambda: looks.append(None))
    assert len(looks) == 4


def test_a_constant_is_matched_once() -> None:
    selector = compile_selector(f"'{LONG}'.matches('(a|b)*a(a|b){{300}}c')")
    assert calls_of(lambda: selector.matches(SCOPE)) < 20


@pytest.mark.parametrize("sign", ["&&", "||"])
@pytest.mark.parametrize("count", [300, 1700])
def test_chains_of_conditions_have_any_length(sign: str, count: int) -> None:
    deciding = "false" if sign == "&&" else "true"
    neutral = "true" if sign == "&&" else "false"
    assert compile_selector(f" {sign} ".join([neutral] * count)).matches(SCOPE) is (sign == "&&")
    chain = [neutral] * count + [f"{OWN}.gone", deciding]
    assert compile_selector(f" {sign} ".join(chain)).matches(SCOPE) is (sign == "||")


@pytest.mark.parametrize(
    ("deepest", "deeper"),
    [
        # Kubernetes' compiler takes and rejects the same.
        pytest.param("+".join(["1"] * 250) + " > 0", "+".join(["1"] * 251) + " > 0", id="operators"),
        pytest.param(
            f"device.driver{'.trim()' * 248} != ''", f"device.driver{'.trim()' * 249} != ''", id="methods"
        ),
        pytest.param("==".join(["true"] * 251), "==".join(["true"] * 252), id="comparisons"),
        # Kubernetes' compiler takes 249.
        pytest.param(f"{'(' * 99}true{')' * 99}", f"{'(' * 100}true{')' * 100}", id="brackets"),
        pytest.param(
            f"{'size(string(' * 49}1{'))' * 49} == 1",
            f"{'size(string(' * 50}1{'))' * 50} == 1",
            id="functions",
        ),
        pytest.param(
            f"{'true ? true : (' * 49}true{')' * 49}", f"{'true ? true : (' * 50}true{')' * 50}", id="choices"
        ),
    ],
)
def test_depth_is_limited(deepest: str, deeper: str) -> None:
    assert compile_selector(deepest).matches(SCOPE)
    with pytest.raises(UnsupportedExpressionError, match="nested deeper than"):
        compile_selector(deeper)


def test_a_version_of_thousands_of_digits_is_none() -> None:
    with pytest.raises(EvaluationError, match="is not a semantic version"):
        compile_selector(f"semver('{'1' * 5000}.0.0') == semver('1.0.0')").matches(SCOPE)
