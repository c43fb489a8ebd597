"""All doors by which others' bytes come in."""

from __future__ import annotations

from tests.laboratories.fuzz import (
    adapters,
    configurations,
    extender,
    manifests,
    page,
    pages,
    raw_http,
    recordings,
    rpcs,
    selectors,
    watches,
)

MODULES = (
    *(extender, rpcs, raw_http, page, pages, adapters),
    *(watches, selectors, manifests, configurations, recordings),
)
TARGETS = {module.TARGET.id: module.TARGET for module in MODULES}
