"""Runs notebooks and stores their outputs the way nbval reads them: python tools/write_references.py FILE...

- What C++ writes to the terminal stays out, as it does when nbval runs the cells.
- Widget views are taken out of the stored outputs: without their state a viewer shows an error in their
  place, while the static picture in the same output shows everywhere. Running the cell shows the widget.
- What one cell prints is stored in one piece, however the kernel happened to send it.
- Times and execution metadata are not stored, so that a second run changes nothing. TensorFlow's version is: with
  another one, pictures are compared by what they show, not by their bytes.
- An output that is an error, or just `False`, is not stored.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TQDM_DISABLE", "1")

import nbformat
from nbclient import NotebookClient

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def run(notebook: Any, folder: Path, timeout: int = 120) -> Any:
    """Executes the notebook in place and returns it; the first cell that raises ends it with that error.

    Args:
        notebook: what nbformat read.
        folder: the working directory of the cells.
        timeout: seconds for one cell.
    """
    options = ["--IPKernelApp.capture_fd_output=False"]
    client = NotebookClient(
        notebook,
        timeout=timeout,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=options,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


def tidy(notebook: Any) -> Any:
    """Takes out what differs from run to run or from machine to machine, and returns the notebook."""
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        "tensorflow": version("tensorflow").rpartition(".")[0],
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {k: v for k, v in cell.metadata.items() if k == "tags"}
        if "hide-input" in cell.metadata.get("tags", ()):
            cell.metadata["jupyter"] = {"source_hidden": True}
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
            output.get("metadata", {}).pop(WIDGET_VIEW, None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]
    notebook.nbformat_minor = 5
    return notebook


def failed(notebook: Any) -> list[str]:
    """Returns which outputs are an error, or a line that is just `False`, each in words."""
    said = []
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        for output in cell.outputs:
            text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
            if output.output_type == "error":
                said.append(f"code cell {number} ends in {output.ename}")
            if "False" in map(str.strip, text.splitlines()):
                said.append(f"code cell {number} prints False: an assert would say that something is wrong")
    return said


def write(path: Path) -> None:
    """Runs one notebook and stores its outputs; if one of them reports a failure, nothing is stored."""
    start = time.perf_counter()
    notebook = tidy(run(nbformat.read(path, as_version=4), path.parent))
    if said := failed(notebook):
        sys.exit(f"{path} is as it was: {'; '.join(said)}")
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    print(f"{path}: {time.perf_counter() - start:.1f} s")


def main(arguments: list[str]) -> int:
    """Writes each notebook named; returns the exit code."""
    if not arguments:
        print("No notebook named: python tools/write_references.py notebooks/00_start_here.ipynb")
        return 2
    for name in arguments:
        write(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
