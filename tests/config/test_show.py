"""``mooring config show`` is what kube-scheduler writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from mooring.app.bridge import profile_documents
from mooring.config import ConfigError, Configuration, from_document, in_force, load, show
from mooring.config.documents import read_configuration
from mooring.config.show import plain, without_secrets
from mooring.framework import SECRET
from tests.config.catalogs import HelloWorldPluginArgs, in_tree, plugin, with_plugins
from tests.config.documents import document, enabled, profile
from tests.config.random_configs import random_configuration

WRITTEN = Path(__file__).parent / "testdata" / "written"
RECORDED = sorted(WRITTEN.glob("*/*.expected.yaml"))


@pytest.mark.parametrize(
    "recorded", RECORDED, ids=lambda path: f"{path.parent.name} {path.name.split('.')[0]}"
)
def test_as_kube_scheduler_writes_it(recorded: Path) -> None:
    written = WRITTEN / recorded.name.replace(".expected", "")
    shown = show(load(written.read_text(), in_tree(), kube_version=recorded.parent.name))
    body = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith("#"))
    assert body == recorded.read_text()


@given(st.integers(0, 10_000))
def test_what_is_shown_means_the_same(seed: int) -> None:
    first = from_document(random_configuration(seed), in_tree())
    assume(all("NodeResourcesFit" in profile.args for profile in first.profiles))  # extenders may ask for it
    again = from_document(plain(first.document), in_tree())
    assert plain(again.document) == plain(first.document)
    assert [p.plugins for p in again.profiles] == [p.plugins for p in first.profiles]
    assert [p.args for p in again.profiles] == [p.args for p in first.profiles]


def test_the_head_names_hash_unsupported_plugins_and_warnings() -> None:
    configuration = from_document(document(), in_tree())
    head = [line for line in show(configuration).splitlines() if line.startswith("#")]
    assert head[0] == f"# configuration hash: {configuration.hash}"
    assert "NodeDeclaredFeatures" in head[1]
    assert head[2:] == [
        *(f"# warning: {warning}" for warning in configuration.warnings),
        *(f"# a default that differs from kube-scheduler: {text}" for text in configuration.differences),
    ]


def test_out_of_tree_arguments_are_shown_with_their_defaults() -> None:
    catalog = with_plugins(plugin("Hello", "score", args=HelloWorldPluginArgs))
    config = document(profile(args={"Hello": {"zzz": 3}}, score=enabled("Hello")))
    entries = read_configuration(show(from_document(config, catalog)))["profiles"][0]["pluginConfig"]
    hello = next(entry["args"] for entry in entries if entry["name"] == "Hello")
    assert hello["zzz"] == 3
    assert hello["kind"] == "HelloArgs"


@dataclass(frozen=True)
class Account:
    user: str = ""
    password: str = field(default="", metadata=SECRET)


@dataclass(frozen=True)
class SecretiveArgs:
    token: str = field(default="", metadata=SECRET)
    accounts: tuple[Account, ...] = ()


def secretive() -> Configuration:
    args = {"token": "HUSH-1", "accounts": [{"user": "u", "password": "HUSH-2"}, {"user": "nobody"}]}
    extender = {
        "urlPrefix": "https://user:HUSH-3@example.com/x@y",
        "filterVerb": "filter",
        "enableHTTPS": True,
        "tlsConfig": {"certData": "cHVibGlj", "keyData": "HUSHHUSH"},
    }
    catalog = with_plugins(plugin("Secretive", "score", args=SecretiveArgs))
    config = document(profile(args={"Secretive": args}, score=enabled("Secretive")), extenders=[extender])
    return from_document(config, catalog)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(show, id="config show"),
        pytest.param(lambda loaded: json.dumps(in_force(loaded, scheduling=True)), id="the log's start"),
        pytest.param(lambda loaded: json.dumps(profile_documents(loaded)), id="ListProfiles"),
    ],
)
def test_secrets_are_shown_nowhere(told: Callable[[Configuration], str]) -> None:
    loaded = secretive()
    text = told(loaded)
    assert "HUSH" not in text
    assert "HUSH-1" in json.dumps(plain(loaded.document))


def test_what_is_no_secret_is_shown_beside_one() -> None:
    shown = in_force(secretive(), scheduling=True)
    (extender,) = shown["extenders"]
    assert extender["urlPrefix"] == "https://REDACTED@example.com/x@y"
    assert extender["tlsConfig"] == {"certData": "cHVibGlj", "keyData": "REDACTED"}
    args = next(e["args"] for e in shown["profiles"][0]["pluginConfig"] if e["name"] == "Secretive")
    assert args["token"] == "REDACTED"
    assert args["accounts"] == [{"user": "u", "password": "REDACTED"}, {"user": "nobody"}]


def test_the_error_about_a_secret_does_not_quote_it() -> None:
    catalog = with_plugins(plugin("Secretive", "score", args=SecretiveArgs))
    config = document(profile(args={"Secretive": {"token": 4711}}, score=enabled("Secretive")))
    with pytest.raises(ConfigError) as raised:
        from_document(config, catalog)
    assert "4711" not in str(raised.value)
    assert "pluginConfig[0].args.token" in str(raised.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("http://a.b:80/x", "http://a.b:80/x", id="nothing to hide"),
        pytest.param("http://user:p@ss@a.b/x", "http://REDACTED@a.b/x", id="a password with an at sign"),
        pytest.param("http://token@a.b", "http://REDACTED@a.b", id="a user alone"),
        pytest.param("http://a.b/x@y?z=@", "http://a.b/x@y?z=@", id="at signs elsewhere"),
    ],
)
def test_a_url_is_shown_without_its_user(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_random_configurations_are_repeatable() -> None:
    assert yaml.safe_dump(random_configuration(7)) == yaml.safe_dump(random_configuration(7))
    assert random_configuration(7) != random_configuration(8)
