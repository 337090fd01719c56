"""The notebooks run from the first cell to the last; in `make nightly`."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")


@pytest.mark.parametrize("notebook", sorted((ROOT / "python" / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    cells = jupytext.read(notebook)
    client = nbclient.NotebookClient(cells, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
