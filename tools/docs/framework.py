"""Writes the reference of ``mooring.framework`` from its docstrings: a page for each of its modules."""

import re
from collections.abc import Iterator
from pathlib import Path

import griffe

from tools.docs.public_names import Public, public_members, public_names

SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples):$", re.MULTILINE)


def write_pages(folder: Path) -> list[Path]:
    """Write the pages; the extension points come first."""
    by_module: dict[str, list[Public]] = {}
    for public in public_names():
        by_module.setdefault(public.item.module.path, []).append(public)
    homes = {public.item.path: module for module, found in by_module.items() for public in found}
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for module in sorted(by_module, key=lambda name: (not name.endswith(".interface"), name)):
        page = folder / f"{module.rpartition('.')[2]}.md"
        page.write_text("\n".join(_page(by_module[module], homes)) + "\n", encoding="utf-8")
        written.append(page)
    return written


def _page(found: list[Public], homes: dict[str, str]) -> Iterator[str]:
    module = found[0].item.module
    yield f"# {module.name}\n"
    yield from _text(module)
    yield from _code(f"from mooring.framework import {', '.join(public.name for public in found)}")
    for public in sorted(found, key=lambda one: one.item.lineno or 0):
        yield from _described(public, homes)


def _described(public: Public, homes: dict[str, str]) -> Iterator[str]:
    item = public.item
    yield f"## {public.name} {{ #{public.name.lower()} }}\n"
    if isinstance(item, griffe.Class):
        yield from _bases(item, homes)
    else:
        yield from _code(public.signature)
    yield from _text(item)
    if isinstance(item, griffe.Class):
        members = list(public_members(item))
        if plain := [member.signature for member in members if member.item.docstring is None]:
            yield from _code("\n".join(plain))
        for member in members:
            if member.item.docstring is not None:
                yield f"### {public.name}.{member.name} {{ #{public.name.lower()}-{member.name.lower()} }}\n"
                yield from _code(member.signature)
                yield from _text(member.item)


def _bases(item: griffe.Class, homes: dict[str, str]) -> Iterator[str]:
    named = []
    for base in item.resolved_bases:
        module = homes.get(base.path)
        page = f"[{base.name}]({module.rpartition('.')[2]}.md#{base.name.lower()})" if module else None
        named.append(page or f"`{base.name}`")
    if named:
        yield f"Extends {', '.join(named)}.\n"


def _code(text: str) -> Iterator[str]:
    yield f"```python\n{text}\n```\n"


def _text(item: griffe.Object) -> Iterator[str]:
    """Yield the docstring as Markdown: double backticks become single, entries of sections become items."""
    if item.docstring is None:
        return
    parts = SECTION.split(item.docstring.value.replace("``", "`").strip())
    yield parts[0].strip() + "\n"
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        yield f"**{name}**\n"
        yield from _entries(body)
        yield ""


def _entries(body: str) -> Iterator[str]:
    lines = [line for line in body.strip("\n").split("\n") if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for line in lines:
        own = line[indent:]
        if own.startswith(" "):
            yield f"  {own.strip()}"
        else:
            name, colon, said = own.partition(": ")
            yield f"- `{name}`: {said}" if colon and re.fullmatch(r"[\w., ]+", name) else f"- {own}"
