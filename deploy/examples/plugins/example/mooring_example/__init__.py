"""Out-of-tree plugins for mooring, in a package of their own."""

from mooring_example.example import Example
from mooring_example.node_filter import NodeFilter

__all__ = ["Example", "NodeFilter"]
