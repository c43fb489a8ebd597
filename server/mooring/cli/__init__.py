"""The command line: ``mooring serve | run | schedule | explain | config | plugins | version``."""

from __future__ import annotations

from mooring.cli.main import main
from mooring.cli.options import Option, with_plugin

__all__ = ["Option", "main", "with_plugin"]
