"""``mooring access check | list``: who may call what."""

from __future__ import annotations

import argparse

from mooring.app.embedding import Option
from mooring.app.options import AccessOptions
from mooring.cli.console import print_table
from mooring.cli.flags import Commands, Flags, add_command, add_verbosity
from mooring.cli.output import Exit
from mooring.cli.values import one_of
from mooring.framework.errors import InvalidArgumentError

_EXAMPLES = """examples:
  mooring access check cn:kube-scheduler Bind --access-policy policy.yaml --namespace web
  mooring access check user:jane ListPods --group team-a --authorization-mode review
  mooring access list                                    the roles of each call"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "access", "say who may call what, and which rule says so", _EXAMPLES)
    verbs: Commands = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    check = add_command(verbs, "check", "say whether a client may make a call; exit code 1 if not")
    check.add_argument(
        "client", metavar="WHO", help="a name with its type: cn:x, dns:x, uri:x, user:x or uid:x"
    )
    text = "Bind, SchedulingService/Bind, or another row of mooring access list, such as 'Schedule to bind'"
    check.add_argument("method", metavar="METHOD", help=text)
    flags = Flags(check)
    flags.add(
        "namespace", "NAME", "", "the namespace of the pods that the call names; default: it names none"
    )
    flags.many("group", "NAME", "a group of the client")
    flags.add("access-policy", "FILE", "", "the policy")
    text = "who decides: the policy, or review: the API server's RBAC"
    flags.add("authorization-mode", "MODE", "policy", text, one_of("policy", "review"))
    flags.add("kubeconfig", "FILE", "", "the API server of the mode review")
    add_verbosity(flags)
    check.set_defaults(run=_check)
    listed = add_command(verbs, "list", "list the calls with the roles that may make them")
    add_verbosity(Flags(listed))
    listed.set_defaults(run=_list)


def _check(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    from mooring.app.access import check
    from mooring.serving.access.clients import named
    from mooring.serving.access.roles import row_of

    row = row_of(args.method)
    if row is None:
        raise InvalidArgumentError.at("METHOD", f"{args.method!r} is not a row of mooring access list")
    method, right = row
    options = AccessOptions(policy=args.access_policy, review=args.authorization_mode == "review")
    try:
        client = named(args.client, args.group)
    except ValueError as error:
        raise InvalidArgumentError.at("WHO", str(error)) from None
    found = check(options, args.kubeconfig, client, method, right, args.namespace)
    place = f" for namespace {args.namespace}" if args.namespace else ""
    call, right_name = method.rpartition("/")[2], str(right.name).lower()
    verdict = "may" if found.allowed else "may not"
    print(f"{args.client} {verdict} call {call}{place}, which needs the right {right_name}: {found.rule}")
    return Exit.OK if found.allowed else Exit.FAILED


def _list(_args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    from mooring.serving.access.roles import table

    print_table(("CALL", "RIGHT", "ROLES"), [(row.call, row.right, ", ".join(row.roles)) for row in table()])
    return Exit.OK
