"""The command line: ``mooring serve | run | schedule | explain | config | plugins | version``."""

from __future__ import annotations

from mooring.app.embedding import Option, with_plugin
from mooring.cli.main import main

__all__ = ["Option", "main", "with_plugin"]
