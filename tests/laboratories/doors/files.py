"""How people keep manifests: the files of a set of objects, and what kubectl would send of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from tests.laboratories.e2e.api import Manifest

JSON, YAML = "application/json", "application/yaml"


@dataclass(frozen=True)
class Posted:
    """The request that creates one object.

    Attributes:
        manifest: The object.
        text: It as it stands in its file; the API server reads that by itself.
        form: The media type of the text.
    """

    manifest: Manifest
    text: str
    form: str = JSON


@dataclass(frozen=True)
class Files:
    """A set of manifests.

    Attributes:
        texts: The text of each file by its path.
        posted: The objects in the order in which the files have them.
    """

    texts: dict[str, str]
    posted: Sequence[Posted]

    def write(self, folder: Path) -> Path:
        """Write the files below ``folder``, and return that."""
        for name, text in self.texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return folder


def in_files(random: Random, objects: Sequence[Manifest]) -> Files:
    """Return the objects in one or several files of any form, in their order."""
    texts: dict[str, str] = {}
    posted: list[Posted] = []
    rest = list(objects)
    while rest:
        count = random.choice((len(rest), random.randrange(1, len(rest) + 1)))
        some, rest = rest[:count], rest[count:]
        suffix, write = random.choice(_FORMS)
        text, own = write(random, some)
        texts[f"{len(texts):02}-{random.choice(('all', 'app', 'dump'))}.{suffix}"] = text
        posted += own
    return Files(texts, posted)


def _yaml_documents(random: Random, objects: Sequence[Manifest]) -> tuple[str, list[Posted]]:
    """YAML documents; some spell numbers and booleans as YAML 1.1 allows."""
    texts = [_spelled_otherwise(random, yaml.safe_dump(item, allow_unicode=True)) for item in objects]
    start = random.choice(("---\n", "# made by hand\n---\n", ""))
    posted = [Posted(item, text, YAML) for item, text in zip(objects, texts, strict=True)]
    return start + random.choice(("---\n", "---\n# the next one\n", "--- \n\n---\n")).join(texts), posted


def _spelled_otherwise(random: Random, text: str) -> str:
    if random.random() < 0.5:
        return text
    yes, no = random.choice((("yes", "no"), ("on", "off"), ("True", "False"), ("y", "n")))
    text = re.sub(r"(?<=: )true$", yes, text, flags=re.MULTILINE)
    text = re.sub(r"(?<=: )false$", no, text, flags=re.MULTILINE)
    number = r"^( *(?:replicas|parallelism|completions|maxSkew|weight|containerPort): \d+)$"
    return re.sub(number, r"\1.0", text, flags=re.MULTILINE)


def _json_documents(random: Random, objects: Sequence[Manifest]) -> tuple[str, list[Posted]]:
    """JSON objects one after another, as several outputs of kubectl in one file."""
    indent: str | int | None = random.choice((2, 4, "\t", None))
    texts = [json.dumps(item, indent=indent, ensure_ascii=random.random() < 0.5) for item in objects]
    return "\n".join(texts) + "\n", [Posted(item, text) for item, text in zip(objects, texts, strict=True)]


def _list(random: Random, objects: Sequence[Manifest]) -> tuple[str, list[Posted]]:
    """Return a List, which may have Lists in it."""
    items = list(objects)
    if random.random() < 0.5:
        at = random.randrange(len(items))
        items[at:] = [_list_of(items[at:])]
    document = _list_of(items)
    text = yaml.safe_dump(document) if random.random() < 0.5 else json.dumps(document, indent=4)
    return text, [Posted(item, json.dumps(item)) for item in objects]


def _list_of(items: Sequence[Manifest]) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _typed_lists(_: Random, objects: Sequence[Manifest]) -> tuple[str, list[Posted]]:
    """Lists of one kind each, with items that name no kind, as the API server answers."""
    lists: list[Manifest] = []
    for item in objects:
        head = {"apiVersion": item["apiVersion"], "kind": f"{item['kind']}List"}
        if not lists or {key: lists[-1][key] for key in head} != head:
            lists.append({**head, "items": []})
        lists[-1]["items"].append(
            {key: value for key, value in item.items() if key not in ("apiVersion", "kind")}
        )
    return yaml.safe_dump_all(lists), [Posted(item, json.dumps(item)) for item in objects]


_FORMS: Sequence[tuple[str, Callable[[Random, Sequence[Manifest]], tuple[str, list[Posted]]]]] = (
    ("yaml", _yaml_documents),
    ("yml", _yaml_documents),
    ("json", _json_documents),
    ("yaml", _list),
    ("yaml", _typed_lists),
)


def must_gather(objects: Sequence[Manifest]) -> Files:
    """Return the objects as must-gather lays out a dump: lists by kind, and each pod once more by itself."""
    lists: dict[str, Manifest] = {}
    texts: dict[str, str] = {}
    for item in objects:
        metadata = item["metadata"]
        group = item["apiVersion"].rpartition("/")[0] or "core"
        place = (
            f"namespaces/{metadata['namespace']}" if "namespace" in metadata else "cluster-scoped-resources"
        )
        file = f"{place}/{group}/{item['kind'].lower()}s.yaml"
        head = {"apiVersion": item["apiVersion"], "kind": f"{item['kind']}List", "items": []}
        lists.setdefault(file, head)["items"].append(item)
        if item["kind"] == "Pod":
            texts[f"{place}/pods/{metadata['name']}/{metadata['name']}.yaml"] = yaml.safe_dump(item)
    texts |= {file: yaml.safe_dump(document) for file, document in lists.items()}
    return Files(texts, [Posted(item, json.dumps(item)) for item in objects])
