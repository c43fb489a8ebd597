"""All rows that are played, in the order of reliability's table."""

from __future__ import annotations

from tests.laboratories.soak import (
    asking,
    binding,
    doors,
    flooding,
    leading,
    machine,
    naming,
    overload,
    reserving,
    rights,
    skew,
    slopes,
    tenants,
    watching,
)

GROUPS = (
    *(binding, watching, leading, reserving, asking, flooding, doors, overload, tenants, naming, machine),
    *(slopes, skew, rights),
)
ROWS = {row.id: row for group in GROUPS for row in group.ROWS}
