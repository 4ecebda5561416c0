"""The tutorial notebook, as a reader would run it."""

import os

import pytest
import spillway as sp

NOTEBOOK = os.path.join(os.path.dirname(__file__), "../../examples/python/tutorial.ipynb")


def test_every_cell_runs(monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(sp.__file__)))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": os.path.dirname(NOTEBOOK)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code"
               for output in cell.outputs]
    assert not any(output.output_type == "error" for output in outputs)
    # The picture of the memory is there, with its text alternative.
    pages = [output.data["text/html"] for output in outputs
             if "text/html" in output.get("data", {})]
    assert any("<svg" in page and "Device memory over one step" in page for page in pages)
