"""Which pods a command is about: those of a namespace and those with labels, as kubectl's -n, -A and -l."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mooring.cli.flags import Flags, add_namespace
from mooring.framework.label_selector import LabelMatcher, SelectorError, parsed

if TYPE_CHECKING:
    from mooring.framework import Pod


@dataclass(frozen=True, slots=True)
class PodSelection:
    """The pods that are meant.

    Attributes:
        namespace: Theirs; "" = all.
        selector: The selector that their labels match, as it was given; "" = anything.
    """

    namespace: str
    selector: str
    matcher: LabelMatcher

    def wants(self, pod: Pod) -> bool:
        """Return whether a pod is among them."""
        metadata = pod.metadata
        return self.namespace in ("", metadata.namespace) and self.matcher.matches(metadata.labels)


def add_selection(flags: Flags) -> None:
    """Add ``-n``, ``-A`` and ``-l``."""
    add_namespace(flags)
    flags.switch("all-namespaces", "the pods of all namespaces", short="A")
    text = "the pods with such labels: app=web, tier!=db, zone in (a, b), gpu, !gpu"
    flags.add("selector", "SELECTOR", "", text, _selector, short="l")


def selection_of(args: argparse.Namespace, *, namespace: str = "") -> PodSelection:
    """Return the pods that the flags of ``add_selection`` name.

    Args:
        args: The parsed arguments.
        namespace: The namespace where the flags name none; "" = all.

    With ``-A`` a namespace is ignored, as in kubectl.
    """
    chosen = "" if args.all_namespaces else args.namespace or namespace
    return PodSelection(chosen, args.selector, parsed(args.selector))


def _selector(text: str) -> str:
    """Check a selector of labels."""
    try:
        parsed(text)
    except SelectorError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
