"""Which documents are objects that are read here, and what each of them is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import PurePath

from mooring.cluster.kinds import kind_in_files
from mooring.cluster.manifests.device_versions import as_newest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import mapping, name_of, namespace_of
from mooring.framework.args import FieldError

_ID = tuple[str, str, str]
"""Kind, namespace and name."""

_RENDERED_BY = {
    "kustomization": "kubectl kustomize DIR",
    "values": "helm template DIR",
    "Chart": "helm template DIR",
}
"""Files without a kind that people keep next to manifests, and the command that renders them."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters at the end of made-up names (``rand.String`` of k8s.io/apimachinery); they spell no words."""


def own_objects(
    documents: Iterable[Document], skipped: Counter[str], violations: list[FieldError]
) -> list[Document]:
    """Return the documents of kinds that are read, in the newest version, each object once and with a name.

    ``skipped`` counts the others by kind, with the API version if a kind that is read has the same name;
    ``violations`` gets the faults.
    """
    known: list[Document] = []
    nameless: list[Document] = []
    for document in documents:
        kind, version = document.manifest.get("kind") or "", str(document.manifest.get("apiVersion") or "")
        if not kind:
            nameless.append(document)
        elif kind_in_files(str(kind), version):
            known.append(Document(document.origin, as_newest(document.manifest)))
        else:
            skipped[f"{version} {kind}" if kind_in_files(str(kind), "") else str(kind)] += 1
    violations += _without_kind(nameless)
    return list(_each_once(_named(known), violations))


def made_up(stem: str, identity: str) -> str:
    """Return ``stem`` and five letters, always the same for one identity."""
    number = int.from_bytes(sha256(identity.encode()).digest()[:8], "big")
    letters = []
    for _ in range(5):
        number, at = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[at])
    return stem + "".join(letters)


def _named(documents: Iterable[Document]) -> Iterator[Document]:
    """Give each object with a ``generateName`` alone a name: the same for the same place among its like."""
    counts: Counter[_ID] = Counter()
    for document in documents:
        metadata = mapping(document.manifest, "metadata")
        stem = metadata.get("generateName")
        if metadata.get("name") or not (isinstance(stem, str) and stem):
            yield document
            continue
        like = str(document.manifest["kind"]), namespace_of(document.manifest), stem
        name = made_up(stem, f"{'/'.join(like)}/{counts[like]}")
        counts[like] += 1
        yield Document(document.origin, {**document.manifest, "metadata": {**metadata, "name": name}})


def _each_once(documents: Iterable[Document], violations: list[FieldError]) -> Iterator[Document]:
    """Yield each object once: folders with a dump may hold one in two files, alike to the last field."""
    first: dict[_ID, Document] = {}
    for document in documents:
        manifest = document.manifest
        identity = str(manifest["kind"]), namespace_of(manifest), name_of(manifest)
        known = first.setdefault(identity, document)
        if known is document or not identity[2]:
            yield document
        elif known.manifest != manifest:
            kind, namespace, name = identity
            given = mapping(manifest, "metadata").get("namespace")
            violations.append(
                FieldError(
                    f"{document.origin}: {kind} {f'{namespace}/{name}' if given else name}",
                    f"given twice with different content; the first one is at {known.origin}",
                )
            )


def _without_kind(documents: list[Document]) -> Iterator[FieldError]:
    """Report documents without a kind, in one error."""
    for document in documents:
        stem = PurePath(document.origin.rpartition(":")[0]).stem
        if render := _RENDERED_BY.get(stem):
            message = f"{stem} is for a program that writes manifests: {render} | mooring ... --manifests -"
            yield FieldError(f"{document.origin}: kind", message)
            return
    if documents:
        message = "the kind is missing; write for example Pod"
        if more := len(documents) - 1:
            message = f"the kind is missing, as in {more} more; an object has to name its kind, such as Pod"
        yield FieldError(f"{documents[0].origin}: kind", message)
