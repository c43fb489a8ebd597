"""The check of plain English: finds eight kinds of fault in documents, docstrings, comments and messages.

``python -m tools.plain_english`` lists every fault, with names of rooms only theirs. There may be none.
"""

import argparse
import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_WORDS = 35
MAX_LINE = 140
GENERATED = re.compile(r"/v1/|/kubernetes/v1|/wire/karmada|_pb2|\.min\.")
TESTS = re.compile(r"tests(?:/laboratories)?(?:/\w+(?=/))?")
"""The room of a test module; its strings are data and are not checked."""

LIKE_THAT = (
    r"an? \w+(?: \w+)? (?:that|which|does|is|has|may|can)|those|that of|some|each|by|after"
    r"|(?:often|many|much)(?! as)"
)
COMPARATIVE = (
    r"longer|more|less|older|newer|larger|smaller|later|higher|lower|better|worse|lesser|matter|sooner"
)
RULES = {
    "headless": (
        r"\b(?:whom|whoever|whomever|nobody|somebody|anybody)\b",
        r"\b(?:for|of|by|to|from|with|in|than|as) who\b",
        r"^what (?!.*\?)",
        r"\b(?:of|for|by|to|from|with|than|about|beside|besides|after|on|at) what\b(?!\?|-)",
        r"\bwhat (?:is|was|are) (?:counted|said|asked|told|known|left|found|read|written|there|made|taken)\b",
    ),
    "fronted of": (
        r"(?:^|[.:;] )(?-i:Of) (?!an? \w+: )",
        r"(?<!most )(?<!some )(?<!all )(?<!each )(?<!none )(?<!both )(?<!any )(?<!one )(?<!two )\bof which\b",
        r"\bas of (?:now|then|so)\b",
        r"\bof so (?:long|many|much)\b",
    ),
    "told, said, asked": (
        r"\b(?:told|telling|tells?)\b(?! (?:\w+ )?(?:\w+ )?apart)",
        r"\b(?:say|says|said|saying) (?:of|about)\b",
        r"\b(?:is|are|was|were|be|been|being) said\b",
        r"\basked\b",
        r"\blook(?:s|ed|ing)? at\b",
    ),
    "dummy it": (r"\bit is \w+ (?:what|when|which|why|who)\b",),
    "connective": (
        r"\banew\b",
        r"\bin turn\b",
        r"\bin place of\b",
        r"\bso (?:many|often|long)\b(?! as\b)",
        r"\bfor (?:so much |much )?less\b",
        r"\b(?:comes?|came|goes|go|stands?|follows?|waits?|written|put) behind\b|, behind\b",
        r"\bbehind (?:it|them|that|this|those|what|which|whom|whose)\b",
        r"\bbeside\b(?! kube-scheduler)",
        rf", as (?:{LIKE_THAT})\b",
        r"\b(?:none|nothing|true|false|also|only|even) where\b",
        r"\bwhere (?:that|this|there|nothing|none|no|more|most|many|all|some|one|another)\b",
        r"(?:^|[.:;] )(?-i:Where) [^.?]*,",
        r"\bas there(?: is| are)?(?=[.,;:)]|$)",
    ),
    'negation by "no"': (
        rf"(?<!there )\b(?:is|are|was|were|becomes?|being) (?-i:no|none)\b(?! (?:{COMPARATIVE}))",
    ),
    "comparison with a past": (
        r"\bany more\b",
        r"\bthan before\b",
        r"\bas before\b(?! \d)",
        r"\bwhere it (?:took|was|had)\b",
    ),
}
"""Patterns by kind of fault, read without regard to case; lengths are checked in ``faults_in``."""
ALLOWED = re.compile(
    r"as which\b|plugins asked to wait|(?:in|of|to) what order|tell(?:s|ing)? (?:the|a) difference",
    re.IGNORECASE,
)
"""Right uses of these words, which are taken out of a text before it is checked."""
LONG = "over 35 words or 140 characters"
KINDS = (*RULES, LONG)
_PATTERNS = {
    kind: re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE)
    for kind, patterns in RULES.items()
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, list item, table cell, comment or message.

    Attributes:
        room: The folder or kind of text to which its faults are counted.
        lines: Its lines, stripped; code is replaced.
        line: The number of the first one, from 1.
    """

    room: str
    file: Path
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, with the words that show it."""

    room: str
    kind: str
    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.words}"


def paragraphs() -> Iterator[Paragraph]:
    """Yield all text of the repository that is checked."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        file = ROOT / name
        if GENERATED.search(name) or file == Path(__file__) or not file.is_file():
            continue
        if file.suffix == ".md":
            folder = "tests" if name.startswith("tests/") else "docs"
            yield from _of_markdown(file, folder if "/" in name else name)
        elif file.suffix == ".proto" and name.startswith("protos/mooring"):
            yield from _of_comments(file, "protos", "//")
        elif file.suffix == ".py" and (tests := TESTS.match(name)):
            yield from _of_python(file, tests[0])
        elif file.suffix == ".py" and name.startswith(("server/mooring/", "adapters/", "tools/")):
            room = name.removeprefix("server/mooring/").removeprefix("adapters/").split("/")[0]
            yield from _of_python(file, room)


def faults(rooms: Iterable[str] = ()) -> list[Fault]:
    """Return the faults of these rooms, or of all."""
    wanted = set(rooms)
    read = [one for one in paragraphs() if not wanted or one.room in wanted]
    pages = dict.fromkeys((one.room, one.file) for one in read if one.file.suffix == ".md")
    long_lines = (
        Fault(room, LONG, f"{file.relative_to(ROOT)}:{number}", f"{line[:50]}...")
        for room, file in pages
        for number, line in _prose(file)
        if len(line) > MAX_LINE and not line.startswith("|")
    )
    return [*(fault for paragraph in read for fault in faults_in(paragraph)), *long_lines]


def faults_in(paragraph: Paragraph) -> Iterator[Fault]:
    """Yield the faults of a paragraph."""
    starts, text = [], ""
    for line in paragraph.lines:
        starts.append(len(text))
        text += line + " "
    text = ALLOWED.sub(lambda found: "x" * len(found[0]), text)

    def fault(kind: str, at: int, words: str) -> Fault:
        line = paragraph.line + sum(start <= at for start in starts) - 1
        return Fault(paragraph.room, kind, f"{paragraph.file.relative_to(ROOT)}:{line}", words)

    for sentence in re.finditer(r"\S.*?(?:[.!?](?=[\s)])|(?=\s*$))", text):
        for kind, pattern in _PATTERNS.items():
            for found in pattern.finditer(sentence[0]):
                at = sentence.start() + found.start()
                yield fault(kind, at, text[max(at - 25, 0) : at + len(found[0]) + 25].strip())
        if len(re.findall(r"(?<![\w`'./-])\w[\w'./-]*", sentence[0])) > MAX_WORDS:
            yield fault(LONG, sentence.start(), f"{sentence[0][:50]}...")


def _prose(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a page outside fenced code."""
    fenced = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _of_markdown(file: Path, room: str) -> Iterator[Paragraph]:
    block: list[str] = []
    last = 0
    for number, line in [*_prose(file), (0, "")]:
        if block and (number != last + 1 or not line.strip() or re.match(r"\s*(?:[-*|#>]|\d+\.) ?", line)):
            yield Paragraph(room, file, last - len(block) + 1, tuple(block))
            block = []
        if line.lstrip().startswith("|"):
            yield from (Paragraph(room, file, number, (_plain(cell),)) for cell in line.split("|"))
        elif line.strip():
            block.append(_plain(line))
        last = number


def _of_python(file: Path, room: str) -> Iterator[Paragraph]:
    source = file.read_text()
    docstrings = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docstrings.add(node.value)
            yield from _of_docstring(node.value.value, file, node.lineno, room)
    yield from _of_comments(file, room, "#")
    if not room.startswith("tests"):
        yield from _of_messages(tree, docstrings, file)


def _of_docstring(text: str, file: Path, first: int, room: str) -> Iterator[Paragraph]:
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], first):
        if block and (not line.strip() or re.match(r"\s*[-*├└│] ?|    +[\w, ]+: |\s*\w+:$", line)):
            yield Paragraph(room, file, number - len(block), tuple(block))
            block = []
        if line.strip():
            block.append(_plain(re.sub(r"^    +[\w, ]+: ", "", line)))


def _of_comments(file: Path, room: str, mark: str) -> Iterator[Paragraph]:
    block: list[str] = []
    alone = re.compile(rf"\s*{mark} (?!noqa|type:|pragma)(.*)")
    trailing = re.compile(rf".*\S  {mark} (?!noqa|type:|pragma)(.*)")
    for number, line in enumerate([*file.read_text().splitlines(), ""], 1):
        comment = alone.match(line) if mark in line else None
        if block and (comment is None or re.match(r"\s*[-|] ?", comment[1])):
            yield Paragraph(room, file, number - len(block), tuple(block))
            block = []
        if comment is not None:
            block.append(_plain(comment[1]))
        elif mark in line and (after := trailing.match(line)):
            yield Paragraph(room, file, number, (_plain(after[1]),))


def _of_messages(tree: ast.AST, docstrings: set[ast.Constant], file: Path) -> Iterator[Paragraph]:
    """Help, HELP, errors and log lines: every string of three words and more that isn't a docstring."""
    seen = set(docstrings)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            seen.update(part for part in node.values if isinstance(part, ast.Constant))
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
            text = node.value
        else:
            continue
        if len(re.findall(r"\b[a-z]+\b", text)) >= 3:
            yield from (
                Paragraph("messages", file, node.lineno, (_plain(line),)) for line in text.splitlines()
            )


def _plain(line: str) -> str:
    """Return a line with code, links and addresses replaced by words that no rule is about."""
    line = re.sub(r"``.+?``|`[^`]+`", "`x`", line)
    line = re.sub(r"\]\([^)]*\)|https?://\S+", "]", line)
    return re.sub(r"^[-*>#]+\s+|^\d+\.\s+|[*_]{2}", "", line.strip()).replace("[", "").replace("]", "")


def main() -> None:
    """List the faults, and count them by kind."""
    parser = argparse.ArgumentParser(prog="python -m tools.plain_english", description=__doc__)
    parser.add_argument(
        "rooms", nargs="*", help="such as runtime, docs, messages, tests/plugins; default all"
    )
    found = faults(parser.parse_args().rooms)
    print("\n".join(map(str, found)))
    print(*(f"{kind}: {sum(fault.kind == kind for fault in found)}" for kind in KINDS), sep="\n")


if __name__ == "__main__":
    main()
