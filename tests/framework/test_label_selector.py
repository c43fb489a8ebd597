import re
from typing import Any

import pytest

from mooring.framework.label_selector import (
    MAX_SELECTOR,
    NOTHING,
    LabelMatcher,
    SelectorError,
    compiled,
    having,
    parsed,
)
from mooring.framework.objects import LabelSelector, LabelSelectorRequirement

WEB = {"app": "web", "tier": "front"}
TEXTS = ("app", "web", "tier", "front")


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
    assert not (matches and compiled(chosen).lacks(TEXTS))


@pytest.mark.parametrize(
    ("matcher", "lacks"),
    [
        pytest.param(having({"app": "db"}), True, id="a value"),
        pytest.param(having({"app": "front"}), False, id="a value of another label"),
        pytest.param(compiled(selector(expression("app", "In", "db", "x"))), True, id="all values"),
        pytest.param(compiled(selector(expression("app", "In", "db", "web"))), False, id="one of two values"),
        pytest.param(compiled(selector(expression("zone", "Exists"))), False, id="a key is not looked for"),
        pytest.param(NOTHING, True, id="nothing matches"),
        pytest.param(having({}), False, id="everything matches"),
    ],
)
def test_what_labels_lack(matcher: LabelMatcher, lacks: bool) -> None:
    assert matcher.lacks(TEXTS) is lacks


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


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("", True, id="empty"),
        pytest.param(" app=web ", True, id="value"),
        pytest.param("app == web", True, id="two equals signs"),
        pytest.param("app!=web", False, id="another value"),
        pytest.param("zone!=a", True, id="another value, without the key"),
        pytest.param("app in (db, web)", True, id="in"),
        pytest.param("app notin (db,web)", False, id="not in"),
        pytest.param("tier", True, id="key"),
        pytest.param("!tier", False, id="no key"),
        pytest.param("app in (db, web),tier=front,!zone", True, id="all hold"),
        pytest.param("app in (db, web),tier=back", False, id="one doesn't"),
        pytest.param("app=", False, id="empty value"),
    ],
)
def test_a_selector_as_kubectl_takes_it(text: str, matches: bool) -> None:
    assert parsed(text).matches(WEB) is matches


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("app=web,", "'' is not one of KEY=VALUE", id="ends with a comma"),
        pytest.param("app in web", "'app in web' is not one of", id="no parentheses"),
        pytest.param("app in (web", "'app in (web' is not one of", id="open parenthesis"),
        pytest.param("a>1", "'a>1' is not a label key", id="an order"),
        pytest.param("-a=b", "'-a' is not a label key", id="key"),
        pytest.param("a=-b", "'-b' is not a label value", id="value"),
        pytest.param("a" * (MAX_SELECTOR + 1), "has 4097 characters, and may have 4096", id="too long"),
    ],
)
def test_text_that_is_no_selector(text: str, fault: str) -> None:
    with pytest.raises(SelectorError, match=f"^{re.escape(fault)}"):
        parsed(text)
