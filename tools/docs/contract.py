"""Writes the reference of the gRPC contract from the comments in protos/: a page for each file."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

from tools.docs.pages import ROOT

PROTOS = ROOT / "protos"
PACKAGES = ("mooring/v1", "mooring/plugin_host/v1", "mooring/recording/v1")

# The numbers of these fields in descriptor.proto. The paths of comments consist of them.
MESSAGE, ENUM, SERVICE = 4, 5, 6
METHOD = VALUE = FIELD = 2
NESTED_MESSAGE, NESTED_ENUM, ONEOF = 3, 4, 8

Comments = dict[tuple[int, ...], str]


def write_pages(folder: Path) -> list[Path]:
    """Write a page for each file of the contract; services come first."""
    described = sorted(_described(), key=lambda file: ("_service" not in file.name, file.name))
    homes = {name: Path(file.name).stem for file in described for name in _names(file)}
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file in described:
        page = folder / f"{Path(file.name).stem}.md"
        page.write_text("\n".join(Page(file, homes).lines()) + "\n", encoding="utf-8")
        written.append(page)
    return written


def _described() -> list[FileDescriptorProto]:
    """Return the contract's files with their comments."""
    well_known = str(files("grpc_tools") / "_proto")
    sources = [str(file) for package in PACKAGES for file in sorted((PROTOS / package).glob("*.proto"))]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "contract.binpb"
        options = (f"-I{PROTOS}", f"-I{well_known}", "--include_source_info", f"--descriptor_set_out={out}")
        if code := protoc.main(["protoc", *options, *sources]):
            message = f"protoc failed with exit code {code}; its messages are above"
            raise SystemExit(message)
        return list(FileDescriptorSet.FromString(out.read_bytes()).file)


def _names(file: FileDescriptorProto) -> Iterator[str]:
    """Yield the full names of the file's messages and enums, nested ones included."""

    def inside(prefix: str, messages: Iterable[DescriptorProto]) -> Iterator[str]:
        for message in messages:
            yield f"{prefix}.{message.name}"
            yield from (f"{prefix}.{message.name}.{enum.name}" for enum in message.enum_type)
            yield from inside(f"{prefix}.{message.name}", message.nested_type)

    yield from inside(f".{file.package}", file.message_type)
    yield from (f".{file.package}.{enum.name}" for enum in file.enum_type)


def _anchor(name: str) -> str:
    """Return the anchor of a message, enum or RPC: its name within the package."""
    return name.lower().replace(".", "-")


class Page:
    """The page of one file; ``homes`` says on which page each type stands."""

    def __init__(self, file: FileDescriptorProto, homes: dict[str, str]) -> None:
        self._file = file
        self._homes = homes
        self._comments: Comments = {
            tuple(place.path): place.leading_comments.rstrip()
            for place in file.source_code_info.location
            if place.leading_comments.strip()
        }

    def lines(self) -> Iterator[str]:
        """Yield the page, line by line."""
        yield f"# {self._file.name}\n"
        yield from self._comment((2,))
        for number, service in enumerate(self._file.service):
            yield from self._service(service, (SERVICE, number))
        yield from self._types("", self._file.message_type, self._file.enum_type, (), (MESSAGE, ENUM))

    def _comment(self, path: tuple[int, ...]) -> Iterator[str]:
        """Yield the comment as Markdown: a table needs an empty line before it, and no blanks to its left."""
        text = self._comments.get(path, "")
        lines = [line.strip() for line in text.split("\n")]
        for before, line in zip(["", *lines], lines, strict=False):
            if line.startswith("|") and before and not before.startswith("|"):
                yield ""
            yield line
        yield ""

    def _service(self, service: ServiceDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        yield f"## {service.name} {{ #{_anchor(service.name)} }}\n"
        yield from self._comment(path)
        for number, method in enumerate(service.method):
            yield f"### {method.name} {{ #{_anchor(service.name)}-{_anchor(method.name)} }}\n"
            yield f"{self._streamed(method)}\n"
            yield from self._comment((*path, METHOD, number))

    def _streamed(self, method: MethodDescriptorProto) -> str:
        asked = "stream of " if method.client_streaming else ""
        answered = "stream of " if method.server_streaming else ""
        return f"{asked}{self._link(method.input_type)} → {answered}{self._link(method.output_type)}".replace(
            "stream of", "*stream of*"
        )

    def _types(
        self,
        prefix: str,
        messages: Sequence[DescriptorProto],
        enums: Sequence[EnumDescriptorProto],
        path: tuple[int, ...],
        fields: tuple[int, int],
    ) -> Iterator[str]:
        for number, message in enumerate(messages):
            if not message.options.map_entry:
                yield from self._message(f"{prefix}{message.name}", message, (*path, fields[0], number))
        for number, enum in enumerate(enums):
            yield from self._enum(f"{prefix}{enum.name}", enum, (*path, fields[1], number))

    def _message(self, name: str, message: DescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        yield f"## {name} {{ #{_anchor(name)} }}\n"
        yield from self._comment(path)
        if message.field:
            yield "| number | field | type | |"
            yield "|---:|---|---|---|"
        for number, field in enumerate(message.field):
            said = self._cell((*path, FIELD, number))
            if field.HasField("oneof_index") and not field.proto3_optional:
                said = f"*one of {message.oneof_decl[field.oneof_index].name}.* {said}"
            yield f"| {field.number} | `{field.name}` | {self._type(message, field)} | {said} |"
        yield ""
        nested = (NESTED_MESSAGE, NESTED_ENUM)
        yield from self._types(f"{name}.", message.nested_type, message.enum_type, path, nested)

    def _enum(self, name: str, enum: EnumDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        yield f"## {name} {{ #{_anchor(name)} }}\n"
        yield from self._comment(path)
        yield "| number | value | |"
        yield "|---:|---|---|"
        for number, value in enumerate(enum.value):
            yield f"| {value.number} | `{value.name}` | {self._cell((*path, VALUE, number))} |"
        yield ""

    def _cell(self, path: tuple[int, ...]) -> str:
        return re.sub(r"\s+", " ", self._comments.get(path, "")).strip().replace("|", "\\|")

    def _type(self, message: DescriptorProto, field: FieldDescriptorProto) -> str:
        entry = next(
            (
                m
                for m in message.nested_type
                if m.options.map_entry and field.type_name.endswith(f".{m.name}")
            ),
            None,
        )
        if entry is not None:
            return f"map of {self._simple(entry.field[0])} to {self._simple(entry.field[1])}"
        repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
        label = "repeated " if repeated else "optional " if field.proto3_optional else ""
        return label + self._simple(field)

    def _simple(self, field: FieldDescriptorProto) -> str:
        if field.type_name:
            return self._link(field.type_name)
        return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()

    def _link(self, name: str) -> str:
        home = self._homes.get(name)
        if home is None:
            return f"`{name.removeprefix('.')}`"
        short = name.rpartition(".v1.")[2]
        return f"[{short}]({home}.md#{_anchor(short)})"
