"""Writes tests/public_api.txt: every public name of the package, with its signature. Run after a wanted change."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "public_api.txt"


def public_api() -> str:
    """Returns the public names of the package: a line for each function, class, method and attribute."""
    import graphsurgeon
    from graphsurgeon import examples, graph_editor, recipes

    lines = [line for module in (graphsurgeon, recipes, examples, graph_editor) for line in _module(module)]
    return "\n".join(lines) + "\n"


def _module(module: Any) -> Iterator[str]:
    yield f"# {module.__name__.replace('.editor.', '.')}"
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        if inspect.isclass(thing):
            bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
            yield f"class {name}({bases})"
            if not issubclass(thing, BaseException):
                yield from _members(thing)
        elif callable(thing):
            yield f"{name}{_signature(thing)}"
        else:
            yield f"{name}: {type(thing).__name__}"
    yield ""


def _members(kind: type) -> Iterator[str]:
    fields = getattr(kind, "__dataclass_fields__", {})
    names = {name for name in {*dir(kind), *fields} if not name.startswith("_")}
    for base in kind.__mro__[1:]:
        if not base.__module__.startswith("graphsurgeon"):
            names -= set(vars(base))  # the names that a list or a NamedTuple has itself
    constructor = f"  {_signature(kind)}"
    yield constructor
    for name in sorted(names):
        thing = inspect.getattr_static(kind, name, None)
        if isinstance(thing, (classmethod, staticmethod)):
            thing = thing.__func__
        yield f"  .{name}{_signature(thing) if inspect.isfunction(thing) else ''}"


def _signature(thing: Any) -> str:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    given = [p.replace(annotation=p.empty, default=_default(p.default)) for p in found.parameters.values()]
    return str(found.replace(parameters=given, return_annotation=inspect.Signature.empty))


def _default(value: Any) -> Any:
    """A default that is written the same in each process."""
    return ... if inspect.isfunction(value) else value


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FILE.write_text(public_api())
