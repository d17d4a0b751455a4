"""Messages: the protobuf messages of TensorFlow, without an import of TensorFlow.

An import of TensorFlow takes seconds. ``from .messages import graph_pb2`` takes milliseconds, because it runs only that
module, not the packages around it. A later import of TensorFlow gets the same classes: protobuf makes one class for
each message.
"""

from __future__ import annotations

import builtins
import threading
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from .import_tensorflow import is_loaded, tensorflow

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
