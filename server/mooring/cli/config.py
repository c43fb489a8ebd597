"""``mooring config check | show | convert``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mooring import config
from mooring.cli.assembly import registry_of
from mooring.cli.flags import Flags, add_verbosity, feature_gates, kube_version
from mooring.cli.options import Option
from mooring.cli.output import EXIT_OK


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser("config", help="check, show or convert a configuration", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, text in (
        ("check", "report every fault, each with its field path"),
        ("show", "print the file with every default, as kube-scheduler --write-config-to does"),
        ("convert", "write an older version or a policy file as v1"),
    ):
        one = verbs.add_parser(verb, help=text, description=text, allow_abbrev=False)
        one.add_argument("file", metavar="FILE", help="the configuration; - for standard input")
        flags = Flags(one)
        flags.many("plugin", "MODULE:CLASS", "register this plugin class")
        flags.add("kube-version", "VERSION", "1.36", "Kubernetes release whose defaults hold", kube_version)
        flags.add("feature-gates", "GATES", "", "Name=true,... where they differ", feature_gates)
        add_verbosity(flags)
        if verb == "check":
            flags.switch("strict", "refuse what a current kube-scheduler refuses")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    text = sys.stdin.read() if args.file == "-" else Path(args.file).read_text(encoding="utf-8")
    if args.verb == "convert":
        print(config.convert(text), end="")
        return EXIT_OK
    catalog = registry_of(args, options).catalog()
    loaded = config.load(
        text,
        catalog,
        kube_version=args.kube_version,
        feature_gates=args.feature_gates,
        strict=getattr(args, "strict", False),
    )
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    unsupported = sorted({name for profile in loaded.profiles for name in profile.unsupported})
    if unsupported:
        print(f"warning: unsupported: {', '.join(unsupported)}", file=sys.stderr)
    print("ok" if args.verb == "check" else config.show(loaded), end="\n" if args.verb == "check" else "")
    return EXIT_OK
