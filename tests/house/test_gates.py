"""Each feature gate has its place on the page that says which are followed."""

import re
from pathlib import Path

from mooring.framework.releases import FEATURE_GATES, NEWEST

PAGE = Path(__file__).parents[2] / "docs" / "feature-gates.md"


def rows() -> dict[str, set[str]]:
    """Return the gates of each row of the page's first table."""
    table = PAGE.read_text().partition("|---|---|\n")[2].partition("\n\n")[0]
    lines = [line.split(" | ") for line in table.splitlines()]
    return {what.strip("| "): set(re.findall(r"`(\w+)`", gates)) for what, gates in lines}


def test_the_page_has_every_gate_of_the_newest_release() -> None:
    acted_on = {
        name
        for name, gate in FEATURE_GATES.items()
        if gate.removed_since is None or gate.removed_since > NEWEST
    }
    told = rows()
    assert set().union(*told.values()) - told["warns that it changes no decision"] == acted_on
    assert told["cannot turn it on"] == {name for name, gate in FEATURE_GATES.items() if gate.lacking}
    assert told["cannot turn it off"] == {name for name, gate in FEATURE_GATES.items() if gate.required}
