"""The source distribution: what is in it, and in `make nightly` that it can be built where there is nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT

MATURIN = ROOT / "target/python/build/bin/maturin"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MATURIN.exists():
        pytest.skip("there is no maturin here: `make python` installs it")
    folder = tmp_path_factory.mktemp("sdist")
    command = [MATURIN, "sdist", "-m", ROOT / "python/Cargo.toml", "--out", folder]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    [found] = folder.glob("sojourn-*.tar.gz")
    return found


def needed() -> set[str]:
    """The folders of the crates that the module is built from."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    by_name = {package["name"]: package for package in packages}
    found: set[str] = set()
    todo = ["sojourn-python"]
    while todo:
        package = by_name[todo.pop()]
        folder = str(Path(package["manifest_path"]).parent.relative_to(ROOT))
        if folder not in found:
            found.add(folder)
            todo += [one["name"] for one in package["dependencies"] if one.get("path") and one["kind"] is None]
    return found


def test_all_that_it_is_built_from_is_in_it_and_no_more(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2]: member for member in archive.getmembers()}
        pyproject = archive.extractfile(files["pyproject.toml"])
        assert pyproject is not None and 'manifest-path = "python/Cargo.toml"' in pyproject.read().decode()
    assert all(member.isfile() for member in files.values()), "no link leads out of it"
    folders = needed()
    assert {"python", "crates/lab", "crates/stats"} <= folders
    for folder in folders:
        assert {f"{folder}/Cargo.toml", f"{folder}/src/lib.rs"} <= set(files), folder
    ours = subprocess.run(["git", "ls-files", "sojourn"], cwd=ROOT / "python", check=True, capture_output=True, text=True).stdout.split()
    assert {"sojourn/_sojourn.pyi", "sojourn/py.typed"} <= set(ours) <= set(files)
    assert {"Cargo.toml", "Cargo.lock", "PKG-INFO", "LICENSE-MIT", "LICENSE-APACHE"} <= set(files)
    large = [name for name, member in files.items() if member.size > 1 << 20]
    assert not large, "no program, and no large data of tests"


@pytest.mark.skipif("SOJOURN_WHOLE" not in os.environ, reason="to build it takes minutes: in `make nightly`")
def test_it_installs_where_the_repository_is_not(sdist: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", bare], check=True)
    # Dependencies of crates are built once; its own are in another folder each time.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target/python/sdist")}
    del environment["SOJOURN_WHOLE"]
    subprocess.run([bare / "bin/pip", "-q", "install", sdist], check=True, cwd=tmp_path, env=environment)
    script = """
import sojourn
answers = sojourn.queue("M/M/1", arrivals="exponential(rate = 0.8 /s)", service="exponential(mean = 1 s)", by=["theory", "sim"], jobs=1e5)
print(round(answers["response_time_mean"].estimate, 9), sojourn.__file__)
try:
    sojourn.program()
except sojourn.InputError as error:
    print(error)
"""
    environment = {"PATH": "/usr/bin:/bin"}
    said = subprocess.run([bare / "bin/python", "-c", script], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    lines = said.stdout.splitlines()
    assert lines[0].startswith(f"5.0 {bare}")
    assert "what was built from the source distribution has none" in lines[1], "and how to have one"
    licences = sorted(path.name for path in bare.glob("lib/*/site-packages/sojourn-*.dist-info/licenses/LICENSE-*"))
    assert licences == ["LICENSE-APACHE", "LICENSE-MIT"]
