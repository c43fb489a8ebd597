"""The layer that finds out which client calls over gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mooring.serving.access.access import Access, CurrentCall, for_call
from mooring.serving.access.clients import Client, certified_names, connected, owner_of_socket
from mooring.serving.addresses import UNIX
from mooring.serving.calls.incoming_calls import certificate_of, inside_of
from mooring.serving.calls.layers import Behavior


def identified(behavior: Behavior, access: Access) -> Behavior:
    """Find out who calls, for all that works on the call; see ``current_call``."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        made = CurrentCall(client_of(access, context), access)
        response = for_call(made, behavior, request, context)
        return _within(made, response) if isinstance(response, Iterator) else response

    return call


def _within(made: CurrentCall, parts: Iterator[Any]) -> Iterator[Any]:
    while (part := for_call(made, next, parts, None)) is not None:
        yield part


def client_of(access: Access, context: grpc.ServicerContext) -> Client:
    """Return who makes a call. Raises as ``Access.client``."""
    return access.client(connection_of(context), context.invocation_metadata() or ())


def connection_of(context: grpc.ServicerContext) -> Client:
    """Return the client that a call's connection proves."""
    return connected_by(inside_of(context))


def connected_by(call: Any) -> Client:
    """Return the client that the connection of a call of grpcio's inside proves."""
    certificate = certificate_of(call)
    return certified(certificate) if certificate else _without_certificate(call.peer().decode())


@lru_cache(256)
def _without_certificate(peer: str) -> Client:
    return owner_of_socket() if peer.startswith(UNIX) else Client(peer=peer)


@lru_cache(256)
def certified(certificate: bytes) -> Client:
    """Return the client with a certificate; without a name if one of its names could mislead."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        common = _subject(read, x509.NameOID.COMMON_NAME)
        others = _alternative_names(read)
    except ValueError:
        return Client(peer="a certificate that can't be read")
    dns = others.get_values_for_type(x509.DNSName)
    names = certified_names(common, dns, others.get_values_for_type(x509.UniformResourceIdentifier))
    groups = _subject(read, x509.NameOID.ORGANIZATION_NAME)
    return connected(names, groups, read.public_bytes(Encoding.DER), "")


def _subject(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str]:
    return [str(name.value) for name in certificate.subject.get_attributes_for_oid(kind)]


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])
