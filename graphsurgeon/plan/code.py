"""Writes a plan as Python code. The module script.py writes a whole history."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph.graph import Graph
from ..graph.selection import Selection
from .backend import Backend
from .function_source import MODULES, CodeNames, Sources, array_code
from .plan_result import PlanResult
from .steps.base import INITIAL, MutedStep, Step, unwrap_muted
from .steps.copy import CopyStep
from .steps.edit import RebuildStep, RenameStep


def plan_code(effect: PlanResult, backend: Backend) -> str:
    """Returns Python source that opens the graphs, makes the plan and applies it.

    A graph that was opened from a file is opened from the file again. A value without code is a variable that the user
    must set first, and a comment describes the value:

    - ``graph`` or ``source_graph`` for a live graph,
    - ``session`` for a session,
    - ``values`` or ``constants`` for arrays that are too long to print,
    - ``ed``, ``dst`` or ``src`` for an editor that has applied plans before.

    The code contains the definition of a function if its source is known and needs only modules. Other functions keep
    their names, or are called ``pattern`` or ``replacement``.
    """
    sources = Sources()
    names = _ScriptNames(effect, backend, sources)
    if any(isinstance(step, RebuildStep) for step in effect.steps):
        lines: list[str] = []
        calls = [f"done = {names.editor_name(effect.base)}.rebuild()"]
    else:
        lines, calls = plan_lines(effect, names, sources)
        calls.append(f"done = {names.editor_name(effect.base)}.apply(plan)")
    needs = [
        line
        for line in _required_imports("\n".join([*names.openings, *sources.lines, *lines, *calls]))
        if line not in sources.imports
    ]
    head = [*sources.imports, "import graphsurgeon as gs", *needs, ""]
    head += [f"# {name}: set it before this runs; {about}" for name, about in sources.parameters.items()]
    head += [*names.openings, ""] if names.openings else [""] * bool(sources.parameters)
    head += [part for text in sources.lines for part in (text, "")]
    return "\n".join([*head, *lines, *calls, ""])


def plan_lines(effect: PlanResult, names: CodeNames, sources: Sources) -> tuple[list[str], list[str]]:
    """Returns the lines that make the selections of a plan, and the lines that make the plan.

    A muted step is a comment.

    Args:
        effect: the effect of the plan.
        names: the names of graphs, values and arrays in the code.
        sources: gets the functions that the plan uses.
    """
    sources.names, sources.owner = names, effect.base.owner
    copies = sum(isinstance(unwrap_muted(step), CopyStep) for step in effect.steps)
    body, lines = [f"{names.editor_name(effect.base)}.plan()"], list[str]()
    for number, muted_or_step in enumerate(effect.steps):
        step, mute = unwrap_muted(muted_or_step), "# " if isinstance(muted_or_step, MutedStep) else ""
        if isinstance(step, RenameStep) and step.values != INITIAL and not _renames_variables(effect, number):
            step = replace(step, values=None)
        sources.block, sources.selections = "block" if copies == 1 else f"block{number + 1}", []
        body.append(mute + step.code(sources))
        lines += [mute + line for line in sources.selections]
    if len(body) == 1:
        return lines, [f"plan = {body[0]}"]
    one = body[0] + body[1]
    if len(body) == 2 and len(one) < 100 and names.short:
        return lines, [f"plan = {one}"]
    return lines, ["plan = (", f"    {body[0]}", *(f"    {part}" for part in body[1:]), ")"]


def _renames_variables(effect: PlanResult, number: int) -> bool:
    """Returns whether a step has renamed variables of the graph."""
    base = effect.base
    return any(i < base.size and base.names[i] in base.state.variables for i in effect.revalued.get(number, ()))


def _required_imports(text: str) -> list[str]:
    """The imports that literals in a text need."""
    return [line for mark, line in IMPORTS if mark in text]


#: A text in a script, and the import that it needs.
IMPORTS = (("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"))


class _ScriptNames(CodeNames):
    """Variable names for the graphs of a plan, and the lines that open them."""

    short = False

    def __init__(self, effect: PlanResult, backend: Backend, sources: Sources) -> None:
        self._backend, self._sources, self._names = backend, sources, dict[int, str]()
        graphs = {id(g.owner): g for g in reversed([g.folded for g in _graphs(effect.steps)])}
        others = [g for key, g in reversed(graphs.items()) if key != id(effect.base.owner)]
        self.openings: list[str] = []
        self._open("ed" if not others else "dst", effect.base, "")
        for number, graph in enumerate(others):
            suffix = "" if len(others) == 1 else str(number + 1)
            self._open(f"src{suffix}", graph, suffix or " ")

    def _open(self, word: str, graph: Graph, suffix: str) -> None:
        """Adds the line that opens a graph, or a parameter if that line would not open the graph of the plan."""
        self._names[id(graph.owner)] = word
        opener = self._backend.opener(graph)
        if opener is not None and not opener.reproduces(graph):
            about = f"the editor of {graph.title!r} after its earlier plans; {word}.to_code() shows their code"
            self._sources.parameters[word] = about
            return
        code = open_code("gs.open(graph)" if opener is None else opener.code, graph.title, self._sources, suffix)
        self.openings.append(f"{word} = {code}")

    def editor_name(self, graph: Graph) -> str:
        return self._names[id(graph.folded.owner)]

    def values_code(self, step: CopyStep | RenameStep) -> str:
        source = step.values
        snapshot = getattr(source, "snapshot", None)
        if isinstance(snapshot, Graph):
            return self.editor_name(snapshot)
        if hasattr(source, "run"):
            whose = f"for the copy of {step.selection.graph.title!r}" if isinstance(step, CopyStep) else "to keep"
            return self._sources.parameter(source, "session", f"a tf.compat.v1.Session, which has the values {whose}")
        return self._arrays(source, "values", "variable")

    def constants_code(self, step: CopyStep) -> str:
        return self._arrays(dict(step.constants), "constants", "tensor")

    def _arrays(self, arrays: Any, preferred: str, key: str) -> str:
        text = arrays_code(arrays) if isinstance(arrays, Mapping) else ""
        about = f"{{{key}: array}}: {shapes_text(arrays)}" if isinstance(arrays, Mapping) else type(arrays).__name__
        return text or self._sources.parameter(arrays, preferred, about)


def _graphs(steps: Sequence[Step]) -> Iterator[Graph]:
    """Yields the graphs of copied ops and of ops in other steps, then the graphs of editors that provide values."""
    steps = [unwrap_muted(step) for step in steps]
    for step in steps:
        for selection in (getattr(step, key, None) for key in ("selection", "code_argument", "within")):
            if isinstance(selection, Selection):
                yield selection.graph
    for step in steps:
        giving = getattr(getattr(step, "values", None), "snapshot", None)
        if isinstance(giving, Graph):
            yield giving


#: The largest number of array elements that the code contains.
_MAX_NUMBERS = 100
#: Name in code of an argument of `gs.open` -> its description.
_LIVE_SOURCES = {"graph": "a live tf.Graph", "session": "a tf.compat.v1.Session", "graph_def": "a GraphDef"}


def open_code(code: str, title: str, sources: Sources, suffix: str = "") -> str:
    """Returns the Python that opens a graph again, with a parameter for each undefined name in it.

    Args:
        code: the code that opened it.
        title: the title of the graph.
        sources: gets the parameters.
        suffix: the suffix after ``source_graph``, the name for a source of copies.
    """
    tree = ast.parse(code, mode="eval")
    renamed = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in MODULES:
            wish = f"source_{node.id}{suffix.strip()}" if suffix else node.id
            description = _LIVE_SOURCES.get(node.id, f"the argument that was given to gs.open as {node.id}")
            word = sources.free_name(wish)
            sources.parameters[word] = f"{description}, opened as {title!r}"
            renamed |= word != node.id
            node.id = word
    return ast.unparse(tree) if renamed else code


def arrays_code(arrays: Mapping[str, Any]) -> str:
    """Returns a mapping of name to array as code; empty if it is too long to be printed.

    Args:
        arrays: name -> array, or a value that can be converted to an array.

    Example:
        >>> arrays_code({"w": np.array([1.0, 2.0]), "b": [1]}), arrays_code({"w": np.zeros(101)})
        ("{'w': [1.0, 2.0], 'b': [1]}", '')
    """
    values = {}
    for name, value in arrays.items():
        shape = getattr(value, "shape", None)
        if shape is not None and _size(shape) > _MAX_NUMBERS:
            return ""
        values[_name(name)] = np.asarray(value.read() if hasattr(value, "read") else value)
    texts = [array_code(array) for array in values.values()]
    if None in texts or sum(array.size for array in values.values()) > _MAX_NUMBERS:
        return ""
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in zip(values, texts, strict=True)) + "}"


def shapes_text(arrays: Mapping[str, Any]) -> str:
    """Returns the names, dtypes and shapes of arrays, for a comment."""
    values = {_name(name): value if hasattr(value, "shape") else np.asarray(value) for name, value in arrays.items()}
    return ", ".join(f"{name!r} {np.dtype(a.dtype).name} {tuple(a.shape)}" for name, a in values.items())


def _size(shape: Any) -> int:
    return int(np.prod([int(n) for n in shape], dtype=np.int64))


def _name(obj: Any) -> str:
    return str(getattr(obj, "name", obj))
