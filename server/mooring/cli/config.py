"""``mooring config check | show | convert``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli.flags import (
    Commands,
    Flags,
    add_plugins,
    add_release,
    add_unknown_plugins,
    add_verbosity,
    engine_options,
)
from mooring.cli.output import EXIT_OK
from mooring.framework import FieldError

if TYPE_CHECKING:
    from mooring import config


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "check, show or convert a configuration"
    parser = commands.add_parser("config", help=text, description=text, allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, text in (
        ("check", "report every fault, each with its field path"),
        ("show", "print the file with every default, as kube-scheduler --write-config-to does"),
        ("convert", "write an older version or a policy file as v1"),
    ):
        one = verbs.add_parser(verb, help=text, description=text, allow_abbrev=False)
        one.add_argument("file", metavar="FILE", help="the configuration; - for standard input")
        flags = Flags(one)
        if verb != "convert":
            add_plugins(flags)
            add_release(flags)
            add_unknown_plugins(flags)
        if verb == "check":
            flags.switch("strict", "reject what a current kube-scheduler rejects")
            flags.add(
                "extenders", "FILE", "", "kube-scheduler's configuration, whose extenders call these profiles"
            )
        add_verbosity(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring import config
    from mooring.app.engine import read_text, registry_of
    from mooring.runtime.profiles.registry import new_in_tree_registry

    text = sys.stdin.read() if args.file == "-" else read_text(args.file)
    if args.verb == "convert":
        print(config.convert(text, new_in_tree_registry().catalog()), end="")
        return EXIT_OK
    catalog = registry_of(engine_options(args, options)).catalog()
    loaded = config.load(
        text,
        catalog,
        kube_version=args.kube_version,
        feature_gates=args.feature_gates,
        strict=args.verb == "check" and args.strict,
        stubs=args.unknown_plugins == "stub",
    )
    if args.verb == "check" and args.extenders:
        _check_extenders(args.extenders, loaded, catalog)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for difference in loaded.differences if args.verb == "check" and args.v else ():
        print(f"a default that differs from kube-scheduler: {difference}", file=sys.stderr)
    for profile in loaded.profiles:
        if profile.unsupported:
            names = ", ".join(profile.unsupported)
            print(f"warning: unsupported in profile {profile.scheduler_name}: {names}", file=sys.stderr)
    print("ok\n" if args.verb == "check" else config.show(loaded), end="")
    return EXIT_OK


def _check_extenders(file: str, loaded: config.Configuration, catalog: config.Catalog) -> None:
    """Return whether kube-scheduler, configured by ``file``, can ask the profiles of ``loaded``.

    Raises:
        ConfigError: ``file`` has faults, or its extenders lack something.
    """
    from mooring import config
    from mooring.app.engine import read_text

    extenders = config.load(read_text(file), catalog).document.extenders
    errors = list(config.check_reserving(loaded.profiles, extenders, catalog))
    errors += config.check_ignored(loaded.profiles, extenders)
    if not extenders:
        errors.append(FieldError("extenders", f"{file} has none, so kube-scheduler calls no extender"))
    if errors:
        raise config.ConfigError(errors)
