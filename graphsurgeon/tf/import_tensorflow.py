"""The only import of TensorFlow, its supported versions, and its protobuf messages, which do not need the import.

An import of TensorFlow takes seconds; a line of text shows that it is being imported. ``from .import_tensorflow import
graph_pb2`` takes milliseconds, because it runs only that module, not the packages around it. A later import of
TensorFlow gets the same classes: protobuf makes one class for each message.
"""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
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
                module = import_module("tensorflow")
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
    spec = find_spec("tensorflow")
    if spec is None or spec.submodule_search_locations is None:
        raise not_installed()
    _imported = sys.modules["tensorflow"] = ModuleType("tensorflow")  # whose modules can be imported one by one
    _imported.__path__ = spec.submodule_search_locations
    with suppress(ImportError, AttributeError):  # from a version of TensorFlow with other parts
        if import_module(".private.c_api", __package__).raw_import_works():
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
            return import_module(module)
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


_PACKAGES = {
    "tensorflow.core.framework": (
        "attr_value_pb2", "function_pb2", "graph_pb2", "node_def_pb2", "op_def_pb2", "resource_handle_pb2",
        "tensor_pb2", "tensor_shape_pb2", "types_pb2", "variable_pb2",
    ),
    "tensorflow.core.protobuf": (
        "config_pb2", "control_flow_pb2", "meta_graph_pb2", "queue_runner_pb2", "saved_model_pb2", "saver_pb2",
        "struct_pb2", "tensor_bundle_pb2", "trackable_object_graph_pb2",
    ),
    "tensorflow.python.keras.protobuf": ("saved_metadata_pb2",),
    "tensorflow.python.training": ("checkpoint_state_pb2",),
}  # fmt: skip
_MODULES = {name: f"{package}.{name}" for package, names in _PACKAGES.items() for name in names}
_loaded_modules: dict[str, ModuleType] = {}
_lock = threading.RLock()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _lock:
        return _module(_MODULES[name])


def _module(name: str) -> ModuleType:
    """Returns one of the modules; runs it first if needed."""
    if is_loaded():
        return import_module(name)
    if name not in _loaded_modules:
        spec = find_spec("tensorflow")
        if spec is None or not spec.submodule_search_locations:  # TensorFlow is missing, or this is another module
            tensorflow()
            return import_module(name)
        path = Path(spec.submodule_search_locations[0], *name.split(".")[1:]).with_suffix(".py")
        if not path.is_file():
            raise ModuleNotFoundError(f"TensorFlow has no module {name!r}", name=name)
        code = SourceFileLoader(name, str(path)).get_code(name)
        assert code is not None
        module = ModuleType(name)
        module.__file__ = str(path)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import_message}
        exec(code, module.__dict__)
        _loaded_modules[name] = module
    return _loaded_modules[name]


def _import_message(name: str, *args: Any, **options: Any) -> Any:
    """Replaces `__import__` inside the modules of this file, so that they import each other without TensorFlow."""
    if name.partition(".")[0] != "tensorflow":
        return builtins.__import__(name, *args, **options)
    names = args[2]
    return _module(name) if "*" in names else SimpleNamespace(**{one: _module(f"{name}.{one}") for one in names})
