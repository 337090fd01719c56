"""The package itself: its examples, its types, what it takes to import it."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import sojourn
from conftest import ROOT


@pytest.mark.parametrize("module", ["", "._experiment", "._policy", "._queue", "._verbs", "._answers", "._sweep"])
def test_examples_of_docstrings(module: str) -> None:
    tested = doctest.testmod(importlib.import_module(f"sojourn{module}"), extraglobs={"sojourn": sojourn})
    assert tested.failed == 0


def blocks(file: Path) -> list[str]:
    """The blocks of Python in a page, in their order."""
    return [part.split("```")[0] for part in file.read_text().split("```python\n")[1:]]


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md", "docs/guides/many-machines.md"])
def test_examples_of_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of a page runs, one after another, beside the experiments of the repository."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "page"}
    found = blocks(ROOT / page)
    assert found
    for number, block in enumerate(found):
        exec(compile(textwrap.dedent(block), f"{page}, block {number + 1}", "exec"), scope)


def test_import_needs_nothing_and_loads_nothing() -> None:
    """Numpy, Numba, polars, pandas, matplotlib and Ray are loaded when they are used."""
    script = """
import sys
import sojourn
heavy = {"numpy", "numba", "polars", "pandas", "matplotlib", "ray", "scipy"} & set(sys.modules)
assert not heavy, heavy
assert sojourn.__version__
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_is_not_installed_is_said_with_its_command(monkeypatch: pytest.MonkeyPatch, four: sojourn.Experiment) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(sojourn.MissingError, match=r"pip install 'sojourn\[notebook\]'"):
        four.ask("theory").to_polars()
    monkeypatch.setitem(sys.modules, "numba", None)
    sojourn.policy(name="mine")(lambda candidates: candidates[0])
    with pytest.raises(sojourn.MissingError, match=r"pip install 'sojourn\[numba\]'"):
        four.set(policy="mine").ask("sim")


def test_types() -> None:
    """mypy, strict, over the package; and its stubs are those of the module."""
    pytest.importorskip("mypy")
    folder = ROOT / "python"
    checked = subprocess.run([sys.executable, "-m", "mypy", "sojourn"], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    stubs = [sys.executable, "-m", "mypy.stubtest", "sojourn._sojourn", "--ignore-missing-stub"]
    checked = subprocess.run(stubs, cwd="/", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_program_is_in_the_wheel() -> None:
    said = subprocess.run([sojourn.program(), "--version"], capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"sojourn {sojourn.__version__}"
