"""The notebook of examples/ runs from its first cell to its last; an error in a notebook is rendered."""

import json
import os
import pathlib

import pytest

SOURCES = pathlib.Path(os.environ.get("PLIMSOLL_SOURCES", pathlib.Path(__file__).resolve().parents[2]))
NOTEBOOK = SOURCES / "examples" / "python.ipynb"


def test_the_cells_run(capsys):
    """Without Jupyter: the code of every cell in order, in one namespace."""
    scope = {"__name__": "__main__"}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code" and "torch.nn.Sequential" not in "".join(cell["source"]):
            exec("".join(cell["source"]), scope)  # pylint: disable=exec-used
    import plimsoll
    plimsoll.unwatch()
    said = capsys.readouterr().out
    assert "fits 1.00 GiB" in said and "smallest budget that works" in said
    assert scope["history"].history["val_accuracy"][-1] > 0.5


@pytest.mark.frameworks
def test_the_notebook_runs_in_a_kernel():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(
        "def work(values):\n    return np.broadcast_to(values, (1 << 20, 1 << 20, 16)).copy()\nwork(np.float32(1))"))
    client = nbclient.NotebookClient(notebook, timeout=300, allow_errors=True)
    client.execute()
    *cells, last = [c for c in notebook.cells if c.cell_type == "code"]
    for cell in cells:
        assert not any(o.output_type == "error" for o in cell.outputs), cell.outputs
    assert any("text/html" in o.get("data", {}) and "Out of memory" in o["data"]["text/html"] for o in cells[1].outputs)
    kinds = [o.output_type for o in last.outputs]
    assert "error" in kinds
    page = "".join(o["data"].get("text/html", "") for o in last.outputs if o.output_type == "display_data")
    assert "Out of memory" in page and "1048576 x 1048576 x 16 float32" in page
    assert "In[%d] line 2" % last.execution_count in page and "ipykernel" not in page
