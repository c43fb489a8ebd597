"""What the log says of plugins that raise: where, once, and then how often."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from mooring.runtime.profiles.tracebacks import Tracebacks


def here() -> None:
    raise ValueError("here")


def there() -> None:
    raise ValueError("there")


def raised(function: Callable[[], None]) -> Exception:
    """What ``function`` raises, as it is caught."""
    try:
        function()
    except ValueError as error:
        return error
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize(
    ("times", "logged"),
    [
        pytest.param(1, 1, id="first"),
        pytest.param(9, 1, id="again"),
        pytest.param(10, 2, id="ten times"),
        pytest.param(99, 2, id="and more"),
        pytest.param(100, 3, id="a hundred times"),
    ],
)
def test_a_line_that_raises_is_shown_once_and_counted_then(
    times: int, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    tracebacks = Tracebacks()
    for _ in range(times):
        tracebacks.tell("Rack", "Score", raised(here))
    assert len(caplog.records) == logged
    first = caplog.records[0]
    assert first.levelno == logging.ERROR
    assert first.getMessage() == "plugin Rack failed at Score: ValueError: here"
    assert [record for record in caplog.records if record.exc_info] == [first]
    counted = [record.getMessage().partition(" time")[0] for record in caplog.records[1:]]
    assert counted == [f"plugin Rack failed at Score, for the {10**n}th" for n in range(1, logged)]


def test_each_line_of_each_plugin_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    tracebacks = Tracebacks()
    for plugin in ("Rack", "Zone"):
        for function in (here, there, here):
            tracebacks.tell(plugin, "Filter", raised(function))
    assert [record.getMessage() for record in caplog.records] == [
        f"plugin {plugin} failed at Filter: ValueError: {what}"
        for plugin in ("Rack", "Zone")
        for what in ("here", "there")
    ]
    assert all(record.exc_info for record in caplog.records)


def test_a_plugin_whose_code_was_not_reached_has_no_frames(caplog: pytest.LogCaptureFixture) -> None:
    Tracebacks().tell("Rack", "Filter", TypeError("takes 1 argument"))
    assert caplog.text.splitlines()[-1].strip() == "TypeError: takes 1 argument"
    assert "Traceback" not in caplog.text
