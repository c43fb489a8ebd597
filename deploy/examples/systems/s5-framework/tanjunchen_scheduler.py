"""mooring with plugins of its own, put together in code as kube-scheduler's `app.WithPlugin` does it."""

import sys

from mooring_example import Example, NodeFilter

from mooring.cli import main, with_plugin
from mooring.runtime.profiles.registry import Registry


def replace_node_filter(registry: Registry) -> None:
    """Replace the nodeFilter of the registry, which has each name once, by ours."""
    registry.unregister("nodeFilter")
    registry.register("nodeFilter", NodeFilter)


if __name__ == "__main__":
    sys.exit(main(replace_node_filter, with_plugin("example", Example)))
