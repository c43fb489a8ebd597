"""Flags in kube style, each with a twin in the environment."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from mooring.app.embedding import Option
from mooring.app.options import (
    EngineOptions,
)
from mooring.app.owners import OWNERS
from mooring.cli.values import (
    Kind,
    above_zero,
    feature_gates,
    kube_version,
    one_of,
    seconds,
    verbosity,
    words,
)
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.serving.grammar import SWITCH, SwitchParser, boolean

ENVIRONMENT_PREFIX = "MOORING_"

_POD_KINDS = ("pod", "pods", "po")


class Parser(SwitchParser):
    """The parser of a command, which shows all values once they are parsed."""

    def values(self, args: argparse.Namespace) -> dict[str, str]:
        """Return each flag's value as Go writes it, by its long name without dashes, sorted."""
        found = {
            _long_name(action): _text(action, getattr(args, action.dest, None))
            for action in self._actions
            if action.option_strings
        }
        return dict(sorted(found.items()))

    def format_help(self) -> str:
        """Show the arguments in the usage, and leave the flags to their lists."""
        self.usage = " ".join(["%(prog)s", *map(_argument, self.arguments()), "[flags]"])
        return super().format_help()

    def format_usage(self) -> str:
        """As in the help."""
        self.usage = " ".join(["%(prog)s", *map(_argument, self.arguments()), "[flags]"])
        return super().format_usage()

    def arguments(self) -> list[argparse.Action]:
        """Return what is given without a flag."""
        return [action for action in self._actions if not action.option_strings]


def _argument(action: argparse.Action) -> str:
    """Return an argument as a usage shows it."""
    name = str(action.metavar or action.dest)
    if action.nargs == "?":
        return f"[{name}]"
    return {"*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - it has no public name
"""The parsers to which a command is added."""

Container: TypeAlias = "argparse._ActionsContainer"  # noqa: SLF001 - it has no public name
"""A parser, or a group of one, to which a flag is added."""

CLUSTER = "Cluster flags"
SERVER = "Server flags"
CONFIGURATION = "Configuration flags"
LOGS = "Logs flags"


class Flags:
    """Adds flags to a parser, or to a group of its help; ``--health-listen`` has the twin
    ``MOORING_HEALTH_LISTEN``.
    """

    def __init__(self, parser: Container) -> None:
        self.parser = parser
        self._groups: dict[str, Flags] = {}

    def group(self, title: str) -> Flags:
        """Return an adder of flags under this title of the help."""
        if title not in self._groups:
            self._groups[title] = Flags(self.parser.add_argument_group(title))
        return self._groups[title]

    def add(
        self,
        name: str,
        metavar: str,
        default: str,
        text: str,
        kind: Kind = str,
        *,
        short: str = "",
        alias: str = "",
    ) -> None:
        """Add a flag with one value, which may have a second long name.

        An invalid value in the environment is a usage error too.
        """
        shown = f" (default: {default})" if default else ""
        action = self.parser.add_argument(
            *([f"-{short}"] if short else []),
            f"--{name}",
            *([f"--{alias}"] if alias else []),
            type=kind,
            default=twin(name) or default,
            metavar=SWITCH if kind is boolean else metavar,
            help=text + shown,
        )
        _complete(action, metavar, kind)

    def optional(self, name: str, metavar: str, text: str, kind: Kind = str, *, bare: str = "") -> None:
        """Add a flag that is None unless it is given; without a value it means ``bare``."""
        self.parser.add_argument(
            f"--{name}",
            type=kind,
            default=twin(name) or None,
            nargs="?" if bare else None,
            const=bare or None,
            metavar=SWITCH if kind is boolean else metavar,
            help=text,
        )

    def many(self, name: str, metavar: str, text: str) -> None:
        """Add a flag that can be repeated; its variable's values, separated by commas, come first."""
        action = self.parser.add_argument(
            f"--{name}",
            action="append",
            default=words(twin(name)),
            metavar=metavar,
            help=f"{text}; can be repeated",
        )
        _complete(action, metavar.rpartition("]")[2], str)

    def switch(self, name: str, text: str, *, short: str = "") -> None:
        """Add a flag that is on or off: ``--name``, ``--name=true``, ``--name=false``."""
        self.add(name, SWITCH, "false", text, boolean, short=short)


_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "fish": "(__fish_complete_path (commandline -ct))"}
_FOLDERS = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "fish": "(__fish_complete_directories)"}
COMPLETED = {"FILE": _FILES, "PATH": _FILES, "DIR": _FOLDERS}
"""By metavar, how shells complete the value of a flag or an argument."""


def _complete(action: argparse.Action, metavar: str, kind: Kind) -> None:
    """Let shells complete a flag's value: a word of a few, or a path."""
    known = [word for word in getattr(kind, "words", ()) if word]
    if known:
        action.choices = known
    elif metavar in COMPLETED:
        action.complete = COMPLETED[metavar]  # type: ignore[attr-defined] # shtab reads it


def _long_name(action: argparse.Action) -> str:
    """Return a flag's first long name without the dashes."""
    return next(name for name in action.option_strings if name.startswith("--")).removeprefix("--")


def _text(action: argparse.Action, value: Any) -> str:
    if action.nargs == 0:
        return "false"
    if value is None:
        return ""
    if action.type in (seconds, above_zero):
        from mooring.config.durations import format_duration

        return format_duration(timedelta(seconds=value))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return f"[{','.join(value)}]"
    if isinstance(value, dict):
        return ",".join(f"{name}={_text(action, one)}" for name, one in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def twin(name: str) -> str:
    """Return the value of a flag's environment variable; "" = not set."""
    return os.environ.get(ENVIRONMENT_PREFIX + name.upper().replace("-", "_"), "")


def add_verbosity(flags: Flags) -> None:
    """Add ``-v``, kube-scheduler's."""
    flags.group(LOGS).add(
        "v",
        "LEVEL",
        "0",
        "log verbosity: 2 = configuration and plugins in force, 4 = rejections, 5 = answers from the cache, "
        "10 = every score",
        verbosity,
        short="v",
    )


def add_output(flags: Flags, *more: str) -> None:
    """Add kubectl's ``-o``: table, json, yaml, and the command's ``more``."""
    forms = ("table", *more, "json", "yaml")
    flags.add("output", "FORM", "table", f"one of {', '.join(forms)}", one_of(*forms), short="o")


def add_manifests(flags: Flags) -> None:
    """Add ``--manifests``; the paths of its environment variable, separated by commas, come first."""
    action = flags.parser.add_argument(
        "--manifests",
        nargs="+",
        action="extend",
        default=words(twin("manifests")),
        metavar="PATH",
        help="files or directories; - = the standard input; can be repeated",
    )
    _complete(action, "PATH", str)


def add_namespace(flags: Flags) -> None:
    """Add kubectl's ``-n``."""
    flags.add("namespace", "NAMESPACE", "", "the pod's namespace", short="n")


def pod_key(text: str, namespace: str) -> str:
    """Return NAMESPACE/NAME of the pod that an argument and ``-n`` name, or NAMESPACE/KIND/NAME of an owner.

    ``pod/web`` is a kind and a name, ``deploy/web`` an owner. Raises InvalidArgumentError if they name two
    namespaces.
    """
    first, slash, name = text.rpartition("/")
    if first in OWNERS:
        return f"{namespace or 'default'}/{OWNERS[first]}/{name}"
    if slash and first not in _POD_KINDS:
        if namespace not in ("", first):
            raise InvalidArgumentError.at("-n", f"{namespace} is not the namespace of {text}")
        return text
    return f"{namespace or 'default'}/{name}"


def names_namespace(pod: str) -> bool:
    """Return whether an argument names the pod's namespace too."""
    first = pod.rpartition("/")[0]
    return bool(first) and first not in (*_POD_KINDS, *OWNERS)


def add_plugins(flags: Flags) -> None:
    """Add ``--plugin`` and ``--plugin-host``."""
    flags.group(CONFIGURATION).many("plugin", "MODULE:CLASS", "register this plugin class")
    add_plugin_hosts(flags)


def add_plugin_hosts(flags: Flags) -> None:
    """Add ``--plugin-host``."""
    text = "register the plugins of a process: unix:PATH, or a loopback HOST:PORT; or of a module: wasm:PATH"
    flags.group(CONFIGURATION).many("plugin-host", "ADDRESS", text)


def search_working_directory() -> None:
    """Let MODULE:CLASS name a module of the working directory, as with ``python -m``."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def add_release(flags: Flags, *, otherwise: str = "") -> None:
    """Add the flags of the Kubernetes release; ``otherwise`` describes the default "" if that is allowed."""
    flags = flags.group(CONFIGURATION)
    flags.add(
        "kube-version",
        "VERSION",
        "" if otherwise else DEFAULT_KUBE_VERSION,
        "Kubernetes release whose behaviour to follow" + (f"; default {otherwise}" if otherwise else ""),
        (lambda text: text and kube_version(text)) if otherwise else kube_version,
    )
    flags.add(
        "feature-gates",
        "GATES",
        "",
        "Name=true,...: gates that differ from the release's defaults",
        feature_gates,
    )


def add_command(commands: Commands, name: str, text: str, examples: str = "") -> Parser:
    """Declare a command, or a verb of one, with its purpose."""
    return commands.add_parser(
        name,
        help=text,
        description=text,
        epilog=examples or None,
        formatter_class=argparse.RawDescriptionHelpFormatter if examples else argparse.HelpFormatter,
        allow_abbrev=False,
    )


def add_deciding(flags: Flags, *, otherwise: str = "", stubs: bool = False) -> None:
    """Add the flags of every command that decides; ``add_release`` explains ``otherwise``.

    ``stubs`` adds ``--unknown-plugins``.
    """
    text = "KubeSchedulerConfiguration file; default: the default profile"
    flags.group(CONFIGURATION).add("config", "FILE", "", text)
    add_plugins(flags)
    add_release(flags, otherwise=otherwise)
    add_verbosity(flags)
    if stubs:
        add_unknown_plugins(flags)


def add_unknown_plugins(flags: Flags) -> None:
    """Add ``--unknown-plugins``, for commands without commits: nothing is committed without a plugin."""
    text = "unknown plugins in the configuration: reject it, or go on without them and warn (stub)"
    known = one_of("reject", "stub")
    flags.group(CONFIGURATION).add("unknown-plugins", "reject|stub", "reject", text, known)


def engine_options(args: argparse.Namespace, options: tuple[Option, ...]) -> EngineOptions:
    """Return the engine's options from the flags of ``add_deciding``, or of some of its parts."""
    from mooring.config.types import PluginHostStanza

    return EngineOptions(
        config=getattr(args, "config", ""),
        plugins=tuple(args.plugin),
        plugin_hosts=tuple(map(PluginHostStanza, args.plugin_host)),
        embedded=options,
        kube_version=getattr(args, "kube_version", DEFAULT_KUBE_VERSION),
        feature_gates=getattr(args, "feature_gates", {}),
        self_check_every=getattr(args, "self_check_every", None),
        stubs=getattr(args, "unknown_plugins", "reject") == "stub",
    )
