"""Flags in kube style, and their twins in the environment."""

from __future__ import annotations

import argparse
import re
from functools import cache
from typing import Any

import pytest

from mooring.cli import values
from mooring.cli.main import COMMANDS, _parser
from mooring.serving import grammar
from mooring_extender.cli import ENVIRONMENT_PREFIX
from mooring_extender.cli import _parser as adapter_parser
from tests.cli.commands import call

WITHOUT_TWIN = {"-h", "--help", "--version"}


def leaves(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parsers of all commands and their verbs."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [parser, *(leaf for action in below for one in action.choices.values() for leaf in leaves(one))]


@cache
def every_flag() -> list[tuple[argparse.ArgumentParser, argparse.Action, str]]:
    found = {}
    for parser in leaves(_parser()):
        for action in parser._actions:
            long = [name for name in action.option_strings if name.startswith("--")]
            if long and long[0] not in WITHOUT_TWIN:
                found[f"{parser.prog} {long[0]}"] = (parser, action, long[0])
    return list(found.values())


def samples(action: argparse.Action) -> str:
    """Return a value that differs from the default."""
    kinds: dict[Any, str] = {
        grammar.boolean: "false" if action.default == "true" else "true",
        values.feature_gates: "A=true",
        values.kube_version: "1.35",
        grammar.logging_format: "json",
    }
    return kinds.get(action.type, "7" if action.type else "other")


@cache
def parsers_beside(twin: str, value: str) -> dict[str, argparse.ArgumentParser]:
    """Return all parsers by command, made while a variable is set, which is the twin of flags of many of
    them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(twin, value)
        return {one.prog: one for one in leaves(_parser())}


def follows_its_twin(parser: argparse.ArgumentParser, action: argparse.Action, name: str) -> bool:
    """Return whether the variable of the environment changes the flag's default."""
    sample = samples(action)
    again = parsers_beside("MOORING_" + name[2:].replace("-", "_").upper(), sample)[parser.prog]
    default = next(one for one in again._actions if name in one.option_strings).default
    return default != action.default and default in (sample, [sample])


def test_every_flag_has_a_twin() -> None:
    assert every_flag()
    assert [
        f"{parser.prog} {name}"
        for parser, action, name in every_flag()
        if not follows_its_twin(parser, action, name)
    ] == []


def test_no_flag_of_many_values_loses_those_given_before() -> None:
    losing = [
        f"{parser.prog} {name}"
        for parser, action, name in every_flag()
        if action.nargs in ("+", "*") and not isinstance(action, argparse._ExtendAction)
    ]
    assert losing == []


def test_every_command_and_verb_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for parser in leaves(_parser()):
        result = call(capsys, *parser.prog.split()[1:], "--help")
        assert result.code == 0
        assert result.out.startswith(f"usage: {parser.prog}")
    assert {*COMMANDS, "version"} <= set(
        re.findall(r"^ {2}([\w-]+)", call(capsys, "--help").out, re.MULTILINE)
    )


def test_many_flags_stand_in_groups() -> None:
    long = {
        parser.prog: group.title
        for parser in leaves(_parser())
        for group in parser._action_groups
        if group.title == "options" and len(group._group_actions) > 12
    }
    assert not long


@pytest.mark.parametrize(
    ("words", "level"),
    [
        pytest.param([], 0, id="quiet"),
        pytest.param(["-v", "4"], 4, id="-v 4"),
        pytest.param(["-v4"], 4, id="-v4"),
        pytest.param(["-v=10"], 10, id="-v=10"),
        pytest.param(["--v", "2"], 2, id="--v 2"),
        pytest.param(["--v=10"], 10, id="--v=10"),
    ],
)
def test_verbosity(words: list[str], level: int) -> None:
    assert _parser().parse_args(["plugins", *words]).v == level


@pytest.mark.parametrize(
    ("words", "value"),
    [
        pytest.param([], False, id="absent"),
        pytest.param(["--strict"], True, id="bare"),
        pytest.param(["--strict=true"], True, id="true"),
        pytest.param(["--strict=false"], False, id="false"),
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["before the file", "after the file"])
def test_a_switch_never_takes_the_next_word(words: list[str], value: bool, after: bool) -> None:
    given = ["config", "check", *(["file.yaml", *words] if after else [*words, "file.yaml"])]
    args = _parser().parse_args(given)
    assert (args.strict, args.files) == (value, ["file.yaml"])


@cache
def usage_and_help(parser: argparse.ArgumentParser) -> str:
    """Return the usage and the help of a parser."""
    return parser.format_usage() + parser.format_help()


def test_every_switch_shows_its_grammar() -> None:
    assert [
        f"{parser.prog} {name}"
        for parser, action, name in every_flag()
        if (f"{name}[=BOOL]" in usage_and_help(parser)) is not (action.type is grammar.boolean)
        or " [=BOOL]" in usage_and_help(parser)
    ] == []


def test_a_twin_has_one_meaning() -> None:
    """No variable of the environment is read by mooring as one flag and by mooring-extender as another."""
    ours = {"MOORING_" + name[2:].replace("-", "_").upper() for *_, name in every_flag()}
    options = (option for action in adapter_parser({})._actions for option in action.option_strings)
    names = {option[2:] for option in options if option.startswith("--")} - {"help"}
    theirs = {ENVIRONMENT_PREFIX + name.replace("-", "_").upper() for name in names}
    assert "MOORING_ADAPTER_LISTEN" in theirs
    assert ours & theirs == set()


def test_a_flag_wins_over_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORING_STRICT", "true")
    monkeypatch.setenv("MOORING_V", "3")
    args = _parser().parse_args(["config", "check", "--strict=false", "-v", "5", "file"])
    assert (args.strict, args.v) == (False, 5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("5", 5.0, id="bare number"),
        pytest.param("0", 0.0, id="none"),
        pytest.param("0.5s", 0.5, id="fraction"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("1m30s", 90.0, id="compound"),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert values.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "-1", "1x", "1s2", "nan", "inf", "1e3", " 1"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a time"):
        values.seconds(text)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["nope"], "invalid choice: 'nope'", id="unknown command"),
        pytest.param(["plugins", "--nope"], "unrecognized arguments: --nope", id="unknown flag"),
        pytest.param(["serve", "--plug", "a:b"], "unrecognized arguments", id="abbreviated flag"),
        pytest.param(["plugins", "-v", "11"], "'11' is not a number from 0 to 10", id="verbosity"),
        pytest.param(["plugins", "-o", "xml"], "'xml' is not one of table, json, yaml", id="output"),
        pytest.param(["schedule"], "give --manifests PATH..., --kubeconfig FILE or", id="no manifests"),
        pytest.param(["schedule", "--cluster", "server:a:1"], "is not one of files:", id="no server"),
        pytest.param(["explain"], "name a POD, or select some", id="no pod"),
        pytest.param(["serve"], "--source: say where the cluster comes from: kubernetes:", id="no source"),
        pytest.param(["sweep"], "--workload: name the manifests to place pods of", id="no workload"),
        pytest.param(
            ["decisions", "--result", "x"], "'x' is not one of scheduled, unschedulable", id="no result"
        ),
        pytest.param(
            ["explain", "web", "-l", "a=b", "--manifests", "f"],
            "give either a POD, or",
            id="a pod and labels",
        ),
        pytest.param(
            ["explain", "-A", "--node", "a", "--manifests", "f"], "are about one POD", id="labels and a node"
        ),
        pytest.param(["explain", "-l", "a=(", "--manifests", "f"], "is not one of KEY=VALUE", id="selector"),
        pytest.param(["explain", "web", "--manifests", "f", "--server", "a:1"], "either", id="two to ask"),
        pytest.param(
            ["explain", "web", "--cluster", "push"], "'push' is not one of server:", id="no cluster"
        ),
        pytest.param(["explain", "web", "--seed", "-1"], "'-1' is not a whole number", id="negative seed"),
        pytest.param(
            ["explain", "web", f"--seed={2**64}"], "is not a whole number from 0", id="seed too large"
        ),
        pytest.param(["serve", "--plugin-slots", "0"], "not a whole number above zero", id="no slots"),
        pytest.param(["serve", "--body-timeout", "0"], "'0' is not a time above zero", id="no time"),
        pytest.param(["serve", "--reflection=1"], "'1' is neither true nor false", id="switch"),
        pytest.param(
            ["serve", "--metrics-prefix", "a-b"],
            "'a-b' is not the beginning of a metric's name",
            id="metrics' prefix",
        ),
        pytest.param(
            ["serve", "--reflection", "true"], "has its value behind =, --reflection=true", id="switch, word"
        ),
        pytest.param(["serve", "--feature-gates", "A"], "'A' is not NAME=true or NAME=false", id="gate"),
        pytest.param(["serve", "--kube-version", "new"], "'new'", id="version"),
    ],
)
def test_wrong_usage(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, *argv)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


def test_a_bad_twin_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOORING_V", "loud")
    result = call(capsys, "plugins")
    assert result.code == 2
    assert "'loud' is not a number from 0 to 10" in result.err
