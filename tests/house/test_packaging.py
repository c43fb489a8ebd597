"""The image's build steps run in clean virtual environments; what they install is what users get."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

import mooring
import mooring_client

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
PACKAGES = ("mooring", "mooring_adapter", "mooring_estimator", "mooring_expander", "mooring_extender")
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: secret}}]
current-context: c
"""
JUNK = ("__pycache__", ".pyc", ".so", "tests", "requirements", ".ci")


@dataclass(frozen=True)
class Image:
    """The result of the build stage: the virtual environment that the image carries, and the wheel in it."""

    environment: Path
    wheel: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        return subprocess.run(
            [self.environment / "bin" / program, *arguments],
            cwd=self.environment,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )


def build_stage() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile's first stage, continuation lines joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    stages = [number for number, line in enumerate(lines) if line.startswith("FROM ")]
    return [
        (word, rest) for word, _, rest in (line.partition(" ") for line in lines[stages[0] + 1 : stages[1]])
    ]


def copy(words: list[str], target: Path) -> None:
    *sources, destination = words
    for source in map(ROOT.joinpath, sources):
        if source.is_dir():
            shutil.copytree(source, target / destination, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / destination)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    base = tmp_path_factory.mktemp("image")
    source, opt = base / "src", base / "opt"
    source.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    arguments: dict[str, str] = {}
    for instruction, rest in build_stage():
        if instruction == "ARG":
            arguments |= dict([rest.split("=")])
        elif instruction == "COPY":
            copy(shlex.split(rest), source)
        elif instruction == "RUN":
            command = rest.replace("/opt/", f"{opt}/")
            done = subprocess.run(
                ["sh", "-ec", command],
                cwd=source,
                env=os.environ | arguments | {"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return Image(environment=opt / "mooring", wheel=next((source / "dist").glob("mooring_scheduler-*.whl")))


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def names_in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("mooring", "version"), id="mooring"),
        pytest.param(("mooring-extender", "--help"), id="mooring-extender"),
    ],
)
def test_both_scripts_run_from_the_image(image: Image, command: tuple[str, ...]) -> None:
    done = image.run(*command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_the_image_carries_this_version(image: Image) -> None:
    assert mooring.__version__ in image.run("mooring", "version").stdout


def test_the_image_carries_no_development_tools(image: Image) -> None:
    done = image.run("python", "-c", "import pytest")
    assert "No module named 'pytest'" in done.stderr


LAST_STAGE = (ROOT / "Dockerfile").read_text().rpartition("FROM ")[2].splitlines()


def words(instruction: str) -> list[str]:
    """Return the words in brackets of an instruction of the last stage."""
    line = next(line for line in LAST_STAGE if line.startswith(f"{instruction} ["))
    listed: list[str] = json.loads(line.partition(" ")[2])
    return listed


def test_the_image_runs_without_being_root() -> None:
    assert "USER 65532:65532" in LAST_STAGE


def test_the_image_has_what_makes_first_decisions_fast(image: Image) -> None:
    done = image.run("python", "-c", "from mooring.kernels.compile import *; import numba")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_reads_kubeconfigs_without_the_models_that_it_leaves_out(
    image: Image, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    done = image.run("mooring", "explain", "default/p", "--kubeconfig", str(kubeconfig))
    assert "Connection refused" in done.stderr
    assert not list(image.environment.glob("lib/*/site-packages/kubernetes/client/models/v1_*"))


def test_the_image_as_it_is_run_can_be_reached_where_its_ports_say(image: Image) -> None:
    """All listeners are on every address of the container, at the ports that it exposes."""
    program, *arguments = [*words("ENTRYPOINT"), *words("CMD")]
    listeners = [word for word in arguments if "-listen=" in word or word.startswith("--listen=")]
    exposed = next(line for line in LAST_STAGE if line.startswith("EXPOSE ")).split()[1:]
    assert [word.partition("=")[2] for word in listeners] == [f"0.0.0.0:{port}" for port in exposed]
    free = [re.sub(r":\d+$", ":0", word) if word in listeners else word for word in arguments]
    with subprocess.Popen(
        [image.environment / "bin" / program, *free],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    ) as process:
        assert process.stdout
        ready = next((line for line in process.stdout if line.startswith("mooring ready: ")), "")
        process.terminate()
    any_port = r"0\.0\.0\.0:\d+"
    assert re.fullmatch(
        f"mooring ready: grpc={any_port} extender=http://{any_port} page=http://{any_port}/ "
        f"health={any_port} metrics={any_port}\n",
        ready,
    )


def test_the_wheel_holds_types_and_contract(image: Image) -> None:
    names = names_in_wheel(image.wheel)
    contract = {
        f"mooring/protos/{file.relative_to(ROOT / 'protos')}" for file in ROOT.glob("protos/**/*.proto")
    }
    assert contract
    assert contract | {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_wheel_holds_nothing_else(image: Image) -> None:
    tops = {PurePosixPath(name).parts[0] for name in names_in_wheel(image.wheel)}
    assert tops == {*PACKAGES, f"mooring_scheduler-{mooring.__version__}.dist-info"}
    assert not [name for name in names_in_wheel(image.wheel) if name.endswith(JUNK[:3])]


def test_the_client_is_a_wheel_of_its_own(image: Image) -> None:
    wheel = next(image.wheel.parent.glob("mooring_client-*.whl"))
    names = names_in_wheel(wheel)
    assert {PurePosixPath(name).parts[0] for name in names} == {
        "mooring_client",
        f"mooring_client-{mooring_client.__version__}.dist-info",
    }
    assert {"mooring_client/py.typed", "mooring_client/v1/scheduling_service_pb2_grpc.pyi"} <= names


def test_the_licence_is_in_every_distribution(image: Image, distributions: Path) -> None:
    text = (ROOT / "LICENSE").read_bytes()
    for wheel in image.wheel.parent.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            found = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
            assert [archive.read(name) for name in found] == [text], wheel.name
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        assert [name for name in archive.getnames() if name.endswith("/LICENSE")]


def test_client_and_server_have_one_version() -> None:
    assert mooring_client.__version__ == mooring.__version__


def test_the_source_distribution_makes_the_same_wheel(image: Image, distributions: Path) -> None:
    wheel = next(distributions.glob("*.whl"))
    assert names_in_wheel(wheel) == names_in_wheel(image.wheel)


def test_the_source_distribution_holds_no_junk(distributions: Path) -> None:
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        inside = [
            PurePosixPath(name).relative_to(PurePosixPath(name).parts[0]) for name in archive.getnames()
        ]
    assert not [name for name in inside if name.parts and name.parts[0] in JUNK]
    assert not [name for name in inside if name.name.endswith(JUNK[:3])]
