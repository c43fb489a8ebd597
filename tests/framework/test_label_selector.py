from typing import Any

import pytest

from mooring.framework.label_selector import NOTHING, LabelMatcher, SelectorError, compiled, having
from mooring.framework.objects import LabelSelector, LabelSelectorRequirement

WEB = {"app": "web", "tier": "front"}


def expression(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key, operator, values)


def selector(*expressions: LabelSelectorRequirement, **labels: str) -> LabelSelector:
    return LabelSelector(labels, expressions)


@pytest.mark.parametrize(
    ("chosen", "matches"),
    [
        pytest.param(None, False, id="absent"),
        pytest.param(selector(), True, id="empty"),
        pytest.param(selector(app="web"), True, id="label"),
        pytest.param(selector(app="db"), False, id="other value"),
        pytest.param(selector(app="web", zone="a"), False, id="one of two labels"),
        pytest.param(selector(expression("app", "In", "db", "web")), True, id="in"),
        pytest.param(selector(expression("zone", "In", "a")), False, id="in, without the key"),
        pytest.param(selector(expression("app", "NotIn", "web")), False, id="not in"),
        pytest.param(selector(expression("zone", "NotIn", "a")), True, id="not in, without the key"),
        pytest.param(selector(expression("tier", "Exists")), True, id="exists"),
        pytest.param(selector(expression("zone", "Exists")), False, id="does not exist"),
        pytest.param(selector(expression("zone", "DoesNotExist")), True, id="absent key"),
        pytest.param(selector(expression("app", "DoesNotExist")), False, id="present key"),
        pytest.param(selector(expression("app", "Exists"), app="db"), False, id="all must hold"),
    ],
)
def test_what_a_selector_matches(chosen: LabelSelector | None, matches: bool) -> None:
    assert compiled(chosen).matches(WEB) is matches


@pytest.mark.parametrize(
    ("matcher", "empty"),
    [
        pytest.param(compiled(None), False, id="absent"),
        pytest.param(compiled(selector()), True, id="empty"),
        pytest.param(having({}), True, id="no labels wanted"),
        pytest.param(having(WEB), False, id="labels wanted"),
    ],
)
def test_which_selectors_are_empty(matcher: LabelMatcher, empty: bool) -> None:
    assert matcher.empty is empty


def test_narrowed_by_another_both_must_match() -> None:
    both = having({"app": "web"}).narrowed(having({"tier": "back"}))
    assert not both.matches(WEB)
    assert both.matches({"app": "web", "tier": "back"})
    assert not having({"app": "web"}).narrowed(NOTHING).matches(WEB)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param(expression("a b", "Exists"), "'a b' is not a label key", id="key"),
        pytest.param(expression("app", "Near"), "'Near' is not an operator", id="operator"),
        pytest.param(expression("app", "In"), "In of 'app' needs values", id="no values"),
        pytest.param(expression("app", "Exists", "x"), "Exists of 'app' takes no values", id="values"),
        pytest.param(expression("app", "In", "x y"), "'x y' is not a label value", id="value"),
    ],
)
def test_a_selector_that_can_not_be_used(wanted: Any, said: str) -> None:
    with pytest.raises(SelectorError, match=said):
        compiled(selector(wanted))
