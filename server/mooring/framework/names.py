"""Checks of well-formed names. Mirrors ``k8s.io/apimachinery/pkg/util/validation`` (validation.go)."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_SUBDOMAIN = 253


def is_qualified_name(text: str) -> bool:
    """Return whether ``text`` may be a label key or a resource name: ``name`` or ``example.com/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return whether ``text`` may be a label's value: up to 63 letters, digits, ``-``, ``_``, ``.``; or
    nothing.
    """
    return not text or _NAME.fullmatch(text) is not None
