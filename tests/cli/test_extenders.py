"""The extenders of a configuration, as `mooring scheduler` calls them."""

from __future__ import annotations

import pytest

from mooring.app.extenders import extenders_of
from mooring.config.types import ExtenderStanza, ExtenderTLS
from mooring.framework.errors import InvalidArgumentError


def test_those_that_can_be_ignored_are_asked_last() -> None:
    stanzas = [ExtenderStanza(f"http://{name}", ignorable=name in "ac") for name in "abcd"]
    extenders, _ = extenders_of(stanzas, [])
    assert [extender.name for extender in extenders] == ["http://b", "http://d", "http://a", "http://c"]


def test_a_fault_names_its_stanza() -> None:
    stanzas = [
        ExtenderStanza("http://a"),
        ExtenderStanza("https://b", tls_config=ExtenderTLS(ca_file="/none")),
    ]
    with pytest.raises(InvalidArgumentError, match=r"^extenders\[1\]\.tlsConfig: can't be used: "):
        extenders_of(stanzas, [])
