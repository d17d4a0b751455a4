"""The only import of TensorFlow, its supported versions, and a line of text that shows that it is being imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import OpenError

OLDEST = (2, 16)  # as in pyproject.toml: the first with Keras 3
_REQUIREMENT = f"tensorflow>={'.'.join(map(str, OLDEST))}"
_INSTALL_HINT = (
    "in a separate environment. Stored pictures and pages work without it; "
    "`python -m graphsurgeon doctor` lists what is installed"
)


def not_installed() -> OpenError:
    """Returns the error if TensorFlow is not installed."""
    return OpenError("import tensorflow", "it is not installed", f"pip install '{_REQUIREMENT}', {_INSTALL_HINT}")


def refuse_old(version: str) -> None:
    """Refuses a TensorFlow that this package does not work with.

    Args:
        version: its version.

    Raises:
        OpenError: it is too old.
    """
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        problem = f"this is TensorFlow {version}, which is too old"
        raise OpenError("import tensorflow", problem, f"pip install -U '{_REQUIREMENT}', {_INSTALL_HINT}")


__all__ = [
    "STARTUP",
    "filter_stderr",
    "import_core",
    "is_loaded",
    "lazy_modules",
    "show_line",
    "tensorflow",
    "tf",
    "when_imported",
    "without_log_warnings",
]

STARTUP = "|".join((
    r"^WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR$",
    r"oneDNN custom operations are on\. You may see slightly different numerical results",
    r"failed call to cuInit: ",
    r"Could not find cuda drivers on your machine, GPU will not be used\.",
    r"This TensorFlow binary is optimized to use available CPU instructions",
    r"^To enable the following instructions: .* rebuild TensorFlow with the appropriate compiler flags\.$",
    r"Unable to register cu(BLAS|DNN|FFT) factory: Attempting to register factory for plugin",
    r"computation placer already registered\. Please check linkage",
    r"TF-TRT Warning: Could not find TensorRT",
))  # fmt: skip
"""The lines that TensorFlow writes whenever it is imported, at every log level; a pattern of bytes and of text."""
_FILTER = """
import re, sys
known, out = re.compile(sys.argv[1].encode()), sys.stdout.buffer
for line in sys.stdin.buffer:
    if not known.search(line.rstrip()):
        out.write(line)
        out.flush()
"""
_FILTER_TIMEOUT = 5.0  # seconds for the filter to end: a process that was started meanwhile may still write to it


_imported: ModuleType | None = None
_on_import: set[Callable[[], None]] = set()


def tensorflow() -> ModuleType:
    """Returns TensorFlow; the first call imports it, which takes several seconds.

    Raises:
        OpenError: it is not installed, or too old.
    """
    global _imported
    if _imported is None:
        while _on_import:
            _on_import.pop()()
        loaded = is_loaded()
        try:
            with (
                nullcontext() if loaded else show_line("Importing TensorFlow …"),
                nullcontext() if loaded else filter_stderr(),
            ):
                module = importlib.import_module("tensorflow")
        except ModuleNotFoundError as missing:
            if missing.name != "tensorflow":
                raise
            raise not_installed() from None
        refuse_old(module.__version__)
        _imported = module
    return _imported


def import_core() -> bool:
    """Imports the part of TensorFlow that imports graphs, a fifth of it, in a process that needs nothing else of it.

    Returns:
        whether this is possible. If not, this imports all of TensorFlow.
    """
    global _imported
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.submodule_search_locations is None:
        raise not_installed()
    _imported = sys.modules["tensorflow"] = ModuleType("tensorflow")  # whose modules can be imported one by one
    _imported.__path__ = spec.submodule_search_locations
    with suppress(ImportError, AttributeError):  # from a version of TensorFlow with other parts
        if importlib.import_module(".private.c_api", __package__).raw_import_works():
            return True
    _imported = None
    del sys.modules["tensorflow"]
    tensorflow()
    return False


def when_imported(function: Callable[[], None]) -> None:
    """Calls a function before this package imports TensorFlow; now, if TensorFlow is imported already."""
    if is_loaded():
        function()
    else:
        _on_import.add(function)


def is_loaded() -> bool:
    """Returns whether TensorFlow has been imported completely, by any module."""
    spec = getattr(sys.modules.get("tensorflow"), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


def lazy_modules(package: str) -> Callable[[str], ModuleType]:
    """Returns the `__getattr__` of a package: it imports a module of the package when the module is first used.

    Args:
        package: the full name of the package.
    """

    def load(name: str) -> ModuleType:
        module = f"{package}.{name}"
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return load


class _LazyModule:
    """TensorFlow as an object: the first use of a name imports it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tensorflow(), name)


if TYPE_CHECKING:
    import tensorflow as tf
else:
    tf = _LazyModule()


@contextmanager
def without_log_warnings() -> Iterator[None]:
    """Keeps warnings out of TensorFlow's Python log while a block runs; errors are still logged."""
    logger = tensorflow().get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def show_line(text: str) -> Iterator[None]:
    """Shows a line in the output of the cell while a block runs; outside a notebook, shows nothing.

    Afterwards the output is empty, so it does not matter in a comparison of outputs.

    Args:
        text: the line.
    """
    publish = _publisher()
    if publish is None:
        yield
        return
    display = {"display_id": f"graphsurgeon-{os.urandom(8).hex()}"}
    # A program that reads outputs, but not their updates, gets an empty output.
    publish(data={}, metadata={}, transient=display)
    publish(data={"text/plain": text}, metadata={}, transient=display, update=True)
    try:
        yield
    finally:
        publish(data={}, metadata={}, transient=display, update=True)


def _publisher() -> Any:
    """Returns the function that publishes outputs of a cell; None if no cell of a notebook is running."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    return shell.display_pub.publish if getattr(shell, "kernel", None) is not None else None


@contextmanager
def filter_stderr() -> Iterator[None]:
    """Removes the known start-up lines from the text that a block writes to the standard error of the process.

    A separate process filters the lines. So the filter also works while an import blocks the interpreter, and after a
    crash. With ``TF_CPP_MIN_LOG_LEVEL=0``, which requests every line, all lines are written.
    """
    line_filter = _start_filter() if os.name == "posix" and os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "0" else None
    if line_filter is None:
        yield
        return
    process, saved = line_filter
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_FILTER_TIMEOUT)


def _start_filter() -> tuple[subprocess.Popen[bytes], int] | None:
    """Starts the filter instead of standard error; returns it and the old standard error, or None on failure."""
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _FILTER, STARTUP],
            stdin=subprocess.PIPE, stdout=saved, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        os.close(saved)
        return None
    assert process.stdin is not None
    with process.stdin as pipe:
        os.dup2(pipe.fileno(), 2)
    return process, saved
