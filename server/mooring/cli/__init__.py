"""The command line: ``mooring COMMAND``, and ``kubectl mooring COMMAND``."""

from __future__ import annotations

from mooring.app.embedding import Option, with_plugin
from mooring.cli.main import kubectl, main

__all__ = ["Option", "kubectl", "main", "with_plugin"]
