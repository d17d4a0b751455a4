"""The first import of TensorFlow: a line in the cell while it lasts, and none of the lines that are always written."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from jupyter_client.manager import start_new_kernel

from graphsurgeon.tf import import_tensorflow
from tests.needs import ROOT

KNOWN = [
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "I0000 00:00:1795812798.883003    8747 cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will "
    "not be used.",
    "I0000 00:00:1795812798.883003    8747 port.cc:153] oneDNN custom operations are on. You may see slightly "
    "different numerical results due to floating-point round-off errors from different computation orders.",
    "E0000 00:00:1795812798.88    8747 cuda_dnn.cc:8579] Unable to register cuDNN factory: Attempting to register "
    "factory for plugin cuDNN when one has already been registered",
    "E0000 00:00:1795812798.88    8747 cuda_fft.cc:485] Unable to register cuFFT factory: Attempting to register "
    "factory for plugin cuFFT when one has already been registered",
    "E0000 00:00:1795812798.88    8747 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to register "
    "factory for plugin cuBLAS when one has already been registered",
    "W0000 00:00:1795812798.88    8747 computation_placer.cc:177] computation placer already registered. Please check "
    "linkage and avoid linking the same target more than once.",
    "2026-01-01 10:00:00.123456: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is "
    "optimized to use available CPU instructions in performance-critical operations.",
    "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow with the appropriate "
    "compiler flags.",
    "2026-01-01 10:00:00.123456: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed call to "
    "cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)",
    "2026-01-01 10:00:00.123456: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not "
    "find TensorRT",
]
OTHERS = ["W0000 00:00:1795812798.883003    8747 gpu.cc:1] Your driver is too old", "a line of another library: ä"]
IMPORT = "from graphsurgeon.tf.import_tensorflow import tensorflow; tensorflow()"
CALL = f"import sys; {IMPORT}; print('after', file=sys.stderr)"


def stand_in(folder, end=""):
    """Writes a module that stands before TensorFlow, and writes to standard error as C++ does."""
    text = "\n".join([KNOWN[0], OTHERS[0], *KNOWN[1:], OTHERS[1], ""])
    lines = ["import os, sys", f"os.write(2, {text.encode()!r})", "__version__ = '2.99.0'", end]
    (folder / "tensorflow.py").write_text("\n".join(lines))
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}


def said(env, code=CALL, cwd=None):
    """Returns the exit code of Python, and the lines it writes to standard error."""
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=cwd, capture_output=True, check=False)
    return done.returncode, done.stderr.decode().splitlines()


def test_the_known_lines_are_left_out_and_all_others_come_in_their_order(tmp_path):
    assert said(stand_in(tmp_path)) == (0, [*OTHERS, "after"])


def test_who_asks_for_every_line_gets_every_line(tmp_path):
    env = {**stand_in(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "0"}
    assert said(env) == (0, [KNOWN[0], OTHERS[0], *KNOWN[1:], OTHERS[1], "after"])


def test_the_last_words_of_a_process_that_dies_in_the_import_are_written(tmp_path):
    code, lines = said(stand_in(tmp_path, "os.write(2, b'F0000 check failed\\n'); os._exit(3)"))
    assert (code, lines) == (3, [*OTHERS, "F0000 check failed"])


def test_a_closed_standard_error_is_no_hindrance(tmp_path):
    env = stand_in(tmp_path)
    (tmp_path / "tensorflow.py").write_text("__version__ = '2.99.0'")
    assert said(env, f"import os; os.close(2); {IMPORT}") == (0, [])


def test_a_missing_tensorflow_gives_standard_error_back(tmp_path):
    env = stand_in(tmp_path, "raise ModuleNotFoundError('none', name='tensorflow')")
    code = f"import sys\ntry: {IMPORT}\nexcept Exception as e: print(type(e).__name__, file=sys.stderr)"
    assert said(env, code) == (0, [*OTHERS, "OpenError"])


@pytest.mark.deep
@pytest.mark.parametrize("level", ["1", "3"])
def test_the_real_import_is_quiet(level):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": level}
    assert said(env) == (0, ["after"])


def test_a_cell_shows_a_line_while_it_imports_and_nothing_after_it(tmp_path):
    manager, client = start_new_kernel(env=stand_in(tmp_path), cwd=str(tmp_path))
    outputs, streams = [], []

    def hear(message):
        kind, content = message["header"]["msg_type"], message["content"]
        if kind in ("display_data", "update_display_data"):
            outputs.append((kind, content["data"], content["transient"]["display_id"]))
        elif kind == "stream":
            streams.append(content["text"])

    try:
        client.execute_interactive(IMPORT, output_hook=hear, timeout=120)
        first = list(outputs)
        client.execute_interactive(IMPORT, output_hook=hear, timeout=120)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    (one,) = {display for *_, display in first}
    text = {"text/plain": "Importing TensorFlow …"}
    assert first == [("display_data", {}, one), ("update_display_data", text, one), ("update_display_data", {}, one)]
    assert outputs == first, "it is imported once"
    assert not any(known in "".join(streams) for known in KNOWN)


def test_without_a_notebook_nothing_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with import_tensorflow.show_line("text"):
        pass
    monkeypatch.delitem(sys.modules, "IPython")
    with import_tensorflow.show_line("text"):
        pass
