"""Rules for names: a text search for a class finds that class and nothing else."""

import re
from collections import defaultdict
from pathlib import Path

from tests.house.test_tree import ROOT, SOURCES

SERVER = ROOT / "server" / "mooring"


def classes(file: Path) -> list[str]:
    return re.findall(r"^ *class (\w+)[(:\[]", file.read_text(), re.MULTILINE)


def test_no_two_classes_of_the_server_have_the_same_name() -> None:
    found = defaultdict(list)
    for file in SOURCES:
        if file.is_relative_to(SERVER):
            for name in classes(file):
                found[name].append(str(file.relative_to(SERVER)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
