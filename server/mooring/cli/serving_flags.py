"""Flags of processes that serve: for the journal, recordings, the audit log, traces and clients' rights."""

from __future__ import annotations

import argparse
from pathlib import Path

from mooring.app.embedding import Option
from mooring.app.options import AccessOptions, AuditOptions, DecisionOptions, ProcessOptions, RecordingOptions
from mooring.cli.flags import CLUSTER, CONFIGURATION, LOGS, Flags, engine_options
from mooring.cli.values import above_zero, count, metrics_prefix, one_of, positive
from mooring.framework.errors import InvalidArgumentError
from mooring.recordings.limits import RecordingLimits
from mooring.serving.certificates import TlsFiles
from mooring.serving.grammar import logging_format
from mooring.serving.logs import FORMATS


def add_process(flags: Flags) -> None:
    """Add the flags of every process that decides and serves."""
    text = "commit nothing on a state older than this"
    flags.group(CLUSTER).add("max-staleness", "TIME", "8s", text, above_zero)
    add_logging_format(flags)
    _add_self_check(flags.group(CONFIGURATION))
    _add_decisions(flags.group("Decision journal flags"))
    add_recording(flags)
    _add_audit(flags.group("Audit flags"))
    text = "TracingConfiguration, same format as kube-apiserver's; default: no tracing"
    flags.group("Tracing flags").add("tracing-config-file", "FILE", "", text)
    _add_access(flags.group("Access flags"))


def process_options(args: argparse.Namespace, options: tuple[Option, ...]) -> ProcessOptions:
    """Return the options from the flags of ``add_process`` and ``add_deciding``. Raises InvalidArgumentError
    if a flag needs another one.
    """
    return ProcessOptions(
        engine=engine_options(args, options),
        max_staleness=args.max_staleness,
        decisions=DecisionOptions(
            args.decision_journal_bytes, args.decision_explanation_bytes, args.decision_undo_bytes
        ),
        recording=recording_options(args, args.record_to),
        audit=_audit_options(args),
        tracing=args.tracing_config_file,
        access=AccessOptions(
            policy=args.access_policy,
            review=args.authorization_mode == "review",
            token_audiences=args.token_audience,
            revoked=args.revoked_clients,
        ),
    )


def _add_self_check(flags: Flags) -> None:
    from mooring.runtime.tuning import SELF_CHECK_EVERY

    text = "verify every Nth cached answer against a full evaluation, in the background; 0 disables"
    flags.add("self-check-every", "COUNT", str(SELF_CHECK_EVERY), text, count)


def _add_decisions(flags: Flags) -> None:
    kept = DecisionOptions()
    flags.add(
        "decision-journal-bytes",
        "BYTES",
        str(kept.journal),
        "memory for recent decisions; 0 disables the journal",
        count,
    )
    text = "memory for whole explanations of some decisions; 0 disables"
    flags.add("decision-explanation-bytes", "BYTES", str(kept.explanations), text, count)
    text = "memory for changes of the state, with which recent decisions can be repeated; 0 disables"
    flags.add("decision-undo-bytes", "BYTES", str(kept.undo), text, count)


def add_recording(flags: Flags, *, required: bool = False) -> None:
    """Add the flags of a recording; ``required`` if recording is the command's only purpose."""
    flags = flags.group("Recording flags")
    kept = RecordingLimits()
    if not required:
        flags.add(
            "record-to", "DIR", "", "record changes of the cluster, and decisions, in files in this directory"
        )
    text = "close a file of the recording larger than this"
    flags.add("record-segment-bytes", "BYTES", str(kept.segment_bytes), text, positive)
    flags.add("record-segment-age", "TIME", "1h", "close a file of the recording older than this", above_zero)
    flags.add("record-keep", "COUNT", str(kept.keep), "number of newest files to keep; 0 = all", count)
    text = "record the values of all annotations, not just those that scheduling may read"
    flags.switch("record-annotations", text)


def recording_options(args: argparse.Namespace, directory: str) -> RecordingOptions:
    """Return the options from the flags of ``add_recording``."""
    limits = RecordingLimits(
        args.record_segment_bytes,
        args.record_segment_age,
        args.record_keep,
        annotations=args.record_annotations,
    )
    return RecordingOptions(directory, limits)


def _add_audit(flags: Flags) -> None:
    kept = AuditOptions()
    text = "write who reserved, bound, evicted or was denied what, as JSON lines; - = standard output"
    flags.add("audit-log", "FILE", "", text)
    text = "begin a new file when the audit log is larger than this"
    flags.add("audit-log-max-bytes", "BYTES", str(kept.max_bytes), text, positive)
    flags.add(
        "audit-log-keep", "COUNT", str(kept.keep), "number of full files of the audit log to keep", count
    )
    flags.switch("audit-fail-closed", "commit nothing while the audit log can't be written")
    text = "write calls that change nothing, too: an RPC such as GetObject, or * for all"
    flags.many("audit-read", "RPC", text)


def _audit_options(args: argparse.Namespace) -> AuditOptions:
    if not args.audit_log and (args.audit_fail_closed or args.audit_read):
        flag = "--audit-fail-closed" if args.audit_fail_closed else "--audit-read"
        raise InvalidArgumentError.at(flag, "needs --audit-log, which names the file")
    return AuditOptions(
        args.audit_log,
        args.audit_log_max_bytes,
        args.audit_log_keep,
        fail_closed=args.audit_fail_closed,
        reads=frozenset(args.audit_read),
    )


def _add_access(flags: Flags) -> None:
    flags.add("access-policy", "FILE", "", "the roles of clients; followed; see mooring access")
    text = "who decides about calls: the policy, or review: the API server's RBAC"
    flags.add("authorization-mode", "MODE", "policy", text, one_of("policy", "review"))
    flags.many(
        "token-audience", "NAME", "accept bearer tokens for this audience; the API server reviews them"
    )
    text = "clients to reject, a line each: cn:x, user:x, or sha256:x of a certificate; followed"
    flags.add("revoked-clients", "FILE", "", text)


def add_logging_format(flags: Flags) -> None:
    """Add ``--logging-format`` of Kubernetes' components."""
    text = f"log format: {' or '.join(FORMATS)}"
    flags.group(LOGS).add("logging-format", "FORMAT", "text", text, logging_format)


def add_metrics_prefix(flags: Flags) -> None:
    """Add ``--metrics-prefix``, so that boards of kube-scheduler find its metrics."""
    text = "prefix of metric names; scheduler = kube-scheduler's names"
    flags.add("metrics-prefix", "PREFIX", "mooring", text, metrics_prefix)


def certificate_files(
    args: argparse.Namespace, certificate: str, key: str, authority: str
) -> TlsFiles | None:
    """Return the files of a listener's certificate, its key and its clients' CA, by their flags.

    Returns:
        None for plain text: none of the three is given.

    Raises:
        InvalidArgumentError: The certificate or the key is missing.
    """
    given = [getattr(args, flag.replace("-", "_")) for flag in (certificate, key, authority)]
    if not any(given):
        return None
    if not (given[0] and given[1]):
        other = f", as --{authority} needs" if given[2] else ""
        raise InvalidArgumentError.at(f"--{certificate}", f"is given together with --{key}, or not{other}")
    return TlsFiles(Path(given[0]), Path(given[1]), Path(given[2]) if given[2] else None)
