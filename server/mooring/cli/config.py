"""``mooring config check | show | diff | schema | convert``."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_plugins,
    add_release,
    add_unknown_plugins,
    add_verbosity,
    engine_options,
)
from mooring.cli.output import Exit, complain, print_json
from mooring.framework import FieldError
from mooring.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mooring import config
    from mooring.config.types import ExtenderStanza
    from mooring.runtime.profiles.registry import Registry


_EXAMPLES = """examples:
  mooring config check config.yaml mine.yaml             every fault, with its line
  mooring config show mine.yaml --resolved               the plugins in force
  mooring config diff config.yaml mine.yaml              what differs in force"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "check, show, compare or convert a configuration"
    parser = add_command(commands, "config", text, _EXAMPLES)
    verbs: Commands = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    file = "the configuration; - for standard input"
    check = _verb(verbs, "check", "report every fault of files, each with its field path")
    check.parser.add_argument("files", metavar="FILE", nargs="+", help=file)
    check.switch("strict", "reject what a current kube-scheduler rejects")
    text = "kube-scheduler's configuration, whose extenders call these profiles"
    check.add("extenders", "FILE", "", text)
    check.switch("probe", "ask each of these extenders to filter and prioritize a pod that isn't there")
    text = "print the file with every default, like kube-scheduler --write-config-to"
    show = _verb(verbs, "show", text, file=f"{file}; default the default profile", optional=True)
    show.add("config", "FILE", "", "the same as FILE")
    show.switch("resolved", "print the plugins in force by extension point, in their order, with weights")
    diff = _verb(
        verbs,
        "diff",
        "compare the effective configurations of two files; exit code 1 if they differ",
        file=file,
    )
    diff.parser.add_argument("other", metavar="FILE", help="the other one")
    _verb(verbs, "schema", "print the JSON Schema of the file and of the plugins' arguments")
    text = "write an older version or a policy file as v1"
    convert = add_command(verbs, "convert", text)
    convert.add_argument("file", metavar="FILE", help=file)
    add_verbosity(Flags(convert))
    parser.set_defaults(run=run, file="")


def _verb(verbs: Commands, name: str, text: str, *, file: str = "", optional: bool = False) -> Flags:
    """Declare a verb that knows the plugins."""
    parser = add_command(verbs, name, text)
    if file:
        parser.add_argument("file", metavar="FILE", help=file, nargs="?" if optional else None, default="")
    flags = Flags(parser)
    add_plugins(flags)
    add_release(flags)
    add_unknown_plugins(flags)
    add_verbosity(flags)
    return flags


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring import config
    from mooring.app.engine import registry_of
    from mooring.runtime.profiles.registry import new_in_tree_registry

    if args.verb == "convert":
        print(config.convert(_text(args.file), new_in_tree_registry().catalog()), end="")
        return Exit.OK
    registry = registry_of(engine_options(args, options))
    if args.verb == "schema":
        print_json(config.schema(registry.catalog()))
        return Exit.OK
    if args.verb == "check":
        if args.probe and not args.extenders:
            raise InvalidArgumentError.at("--probe", "needs --extenders, which names the extenders to call")
        return _check(args, registry)
    file = args.file or (args.config if args.verb == "show" else "")
    loaded = _load(args, file, registry)
    if args.verb == "diff":
        return _diff(args, file, loaded, _load(args, args.other, registry))
    _warn(args, loaded)
    print(config.resolved(loaded) if args.resolved else config.show(loaded), end="")
    return Exit.OK


def _check(args: argparse.Namespace, registry: Registry) -> int:
    """Check each file, and go on after one that has faults."""
    from mooring import config

    code = Exit.OK
    for file in args.files:
        try:
            loaded = _load(args, file, registry)
            if args.extenders:
                _check_calls(args, loaded, registry.catalog())
        except config.ConfigError as error:
            complain(error.text(args.file))
            code = Exit.INVALID
        except InvalidArgumentError as error:
            complain("\n".join(map(str, error.violations)))
            code = Exit.INVALID
        else:
            _warn(args, loaded)
            print(f"{file}: ok" if len(args.files) > 1 else "ok")
    return code


def _text(file: str) -> str:
    from mooring.app.engine import read_text

    return sys.stdin.read() if file == "-" else read_text(file, pipe=True)


def _load(args: argparse.Namespace, file: str, registry: Registry) -> config.Configuration:
    """Return the configuration of a file, or the default one.

    Raises:
        ConfigError: It has faults.
        UnavailableError: A host of plugins does not answer.
    """
    from mooring import config
    from mooring.plugin_hosts.hosts import register_hosts

    version, gates = args.kube_version, args.feature_gates
    if not file:
        return config.default(registry.catalog(), kube_version=version, feature_gates=gates)
    args.file, text = file, _text(file)
    register_hosts(registry, config.plugin_hosts(text))
    return config.load(
        text,
        registry.catalog(),
        kube_version=version,
        feature_gates=gates,
        strict=args.verb == "check" and args.strict,
        stubs=args.unknown_plugins == "stub",
    )


def _warn(args: argparse.Namespace, loaded: config.Configuration) -> None:
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for difference in loaded.differences if args.verb == "check" and args.v else ():
        print(f"a default that differs from kube-scheduler: {difference}", file=sys.stderr)
    for profile in loaded.profiles:
        if profile.unsupported:
            names = ", ".join(profile.unsupported)
            print(f"warning: unsupported in profile {profile.scheduler_name}: {names}", file=sys.stderr)


def _diff(
    args: argparse.Namespace, first_name: str, first: config.Configuration, second: config.Configuration
) -> int:
    """Print what differs: the documents with every default, and the plugins in force."""
    from mooring import config

    before, after = (
        [f"{line}\n" for line in (config.show(one) + config.resolved(one)).splitlines() if line[:1] != "#"]
        for one in (first, second)
    )
    lines = list(difflib.unified_diff(before, after, first_name, args.other))
    sys.stdout.writelines(lines)
    return Exit.INVALID if lines else Exit.OK


def _check_calls(args: argparse.Namespace, loaded: config.Configuration, catalog: config.Catalog) -> None:
    """Check that kube-scheduler, configured by ``--extenders``, can call the profiles of ``loaded``. Raises
    ConfigError if it can't; ``args.file`` is the file that is meant.
    """
    from mooring import config

    args.file = args.extenders
    text = _text(args.file)
    extenders = config.load(text, catalog, stubs=True).document.extenders
    errors = [*config.check_calls(extenders), *config.check_reserving(loaded.profiles, extenders, catalog)]
    errors += config.check_ignored(loaded.profiles, extenders)
    for warning in config.advise_on_calls(extenders):
        print(f"warning: {args.file}: {warning}", file=sys.stderr)
    if not extenders:
        errors.append(FieldError("extenders", "there are none, so kube-scheduler calls no extender"))
    if args.probe and not errors:
        errors += _probe(extenders)
    if errors:
        # The other paths are those of the profiles, in the other file.
        own = (fault.path for fault in errors if fault.path.startswith("extenders"))
        raise config.ConfigError(errors, config.lines_of(text, own))


def _probe(extenders: Sequence[ExtenderStanza]) -> list[FieldError]:
    """Print how long each extender takes to answer, and return what is wrong with the answers. Raises
    InvalidArgumentError if a certificate can't be used.
    """
    from mooring.app.probing import faults_of, probe

    probed = list(probe(extenders))
    for each in probed:
        took = f"answered in {each.seconds * 1e3:.0f} ms of {each.timeout:g} s"
        if each.slow:
            print(f"warning: {each.path}: {took}, so it may be late under load", file=sys.stderr)
        elif not each.fault:
            print(f"{each.path}: {took}")
    return faults_of(probed)
