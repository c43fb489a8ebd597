"""The page that is committed is the one that its source gives, and small."""

import gzip
import shutil
from pathlib import Path

import pytest

from tests.process import run

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SOURCE, BUNDLE = ROOT / "web", ROOT / "server/mooring/web/static"
MOST_BYTES = 80_000


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def install() -> str:
    """Install the packages of the page's source; return the path of npm."""
    npm = shutil.which("npm")
    assert npm, "install nodejs and npm"
    run(npm, "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", directory=SOURCE)
    return npm


def test_it_is_what_its_source_gives(tmp_path: Path) -> None:
    npm = install()
    run(npm, "exec", "--", "vite", "build", "--outDir", tmp_path, "--emptyOutDir", directory=SOURCE)
    stale = [name for name, data in files(tmp_path).items() if files(BUNDLE).get(name) != data]
    assert stale == [], "run `make web` and commit the result"
    assert files(tmp_path).keys() == files(BUNDLE).keys()


def test_it_is_small() -> None:
    sizes = {name: len(gzip.compress(data)) for name, data in files(BUNDLE).items()}
    assert sum(sizes.values()) <= MOST_BYTES, sizes


def test_it_asks_no_other_host() -> None:
    """Nothing is loaded from elsewhere, and no script or style is in the document itself."""
    index = (BUNDLE / "index.html").read_text()
    assert "http" not in index
    assert "<style" not in index
    assert index.count("<script") == index.count('<script type="module" crossorigin src="./')
