"""All doors by which others' bytes come in."""

from __future__ import annotations

from tests.fuzz import configurations, extender, manifests, raw_http, recordings, rpcs, selectors, watches

MODULES = (extender, rpcs, raw_http, watches, selectors, manifests, configurations, recordings)
TARGETS = {module.TARGET.id: module.TARGET for module in MODULES}
