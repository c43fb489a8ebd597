"""All rows that are played, in the order of reliability's table."""

from __future__ import annotations

from tests.soak import binding, leading, reserving, watching

ROWS = {row.id: row for group in (binding, watching, leading, reserving) for row in group.ROWS}
