"""The arguments of plan methods, checked and converted into names, and the calls that they require to be inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Any

from ..errors import PlanError, counted
from ..graph.functions import called_function, callees_of
from ..graph.graph import Graph
from ..graph.layers import Layer
from ..graph.names import device_parts, free_name, scopes_around, tensor_name
from ..graph.references import ReferenceResolver
from ..graph.selection import Selection, selection_from
from ..graph.types import TFNodeDef
from .adapters import CASTABLE
from .backend import Backend
from .dependencies import POLICIES, is_tensor, with_unshared_variables
from .function_source import function_name
from .resolver import resolve
from .steps.base import Step
from .steps.edit import RenameStep
from .steps.functions import InlineStep


def call_path(graph: Graph, name: str) -> list[str]:
    """Returns the calls to inline, the outermost first, so that an op, scope or tensor of a function exists.

    Inlining a call includes the calls inside it. A cond, case or loop in a call is also returned if the op is in one of
    its functions. The result is empty for a name that exists already, or that exists nowhere.

    Args:
        graph: the graph.
        name: the op, scope or tensor: ``call/inner``, ``loop/body/inner:0``.
    """
    op = name.partition(":")[0]
    if "/" not in op or op in graph.index:
        return []
    for lead in scopes_around(op):
        number = graph.index.get(lead)
        if number is not None:
            return _path_inside(graph, graph.nodes[number], lead, op[len(lead) + 1 :]) or []
    return []


def _path_inside(graph: Graph, node: TFNodeDef, path: str, rest: str) -> list[str] | None:
    """The calls on the way to an op inside a call; None if there is no op of that name."""
    functions, calls, visited = graph.functions, [path], set[str]()
    flow = not called_function(node, functions)
    while True:
        inside = [one for one in callees_of(node, functions) if one.function in functions]
        fits = [one for one in inside if not one.name_infix or rest.startswith(f"{one.name_infix}/")]
        if not fits or fits[0].function in visited:
            return None
        visited.add(fits[0].function)
        below = f"{fits[0].name_infix}/" if fits[0].name_infix else ""
        rest = rest[len(below) :]
        nodes = {inner.name: inner for inner in functions[fits[0].function].node_def}
        if rest in nodes or any(name.startswith(f"{rest}/") for name in nodes):
            return calls
        lead = next((one for one in scopes_around(rest) if one in nodes), "")
        if not lead:
            return None
        path, node, rest = f"{path}/{below}{lead}", nodes[lead], rest[len(lead) + 1 :]
        if not called_function(node, functions) and not flow:
            calls.append(path)
            flow = True


def with_inlined_calls(graph: Graph, steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Returns the steps of a plan with a new step at the end.

    If the new step names ops inside calls, the calls are inlined before it.

    Args:
        graph: the graph that the plan is for.
        steps: the steps so far.
        step: the new step.
    """
    calls = list(dict.fromkeys(call for name in step.inner_names() for call in call_path(graph, name)))
    if isinstance(step, InlineStep):
        return (*steps, replace(step, ops=tuple(dict.fromkeys([*calls, *step.ops]))))
    for at, one in enumerate(steps) if calls else ():
        if isinstance(one, InlineStep) and set(calls) & set(one.ops):
            wider = replace(one, ops=tuple(dict.fromkeys([*one.ops, *_below(calls, one)])))
            steps = (*steps[:at], wider, *steps[at + 1 :])
            calls = [call for call in calls if call not in wider.ops]
    return (*steps, InlineStep(tuple(calls), is_implicit=True), step) if calls else (*steps, step)


def _below(calls: list[str], step: InlineStep) -> list[str]:
    """Returns the calls that are inside a call which the step inlines."""
    return [call for call in calls if any(call.startswith(f"{op}/") for op in step.ops)]


DEVICES = ("clear", "keep")
#: Argument that is a mapping -> examples of its value, for messages.
_MAPPINGS = {
    "inputs": "{'x:0': 'new:0'}", "reuse": "{'w': 'net/w'}",
    "names": "{'x': 'net/y'}", "variables": "'copy' or {'w': 'freeze'}", "device": "'/cpu:0' or {'/gpu:0': '/cpu:0'}",
}  # fmt: skip


NamePairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Arguments:
    """Checks the arguments of one call and converts them into names.

    Args:
        base: the graph that the plan is for.
        steps: the steps so far; later steps use the names after these steps.
        backend: splits objects that are made of several tensors.
        request: the request, for messages.
    """

    base: Graph
    steps: tuple[Step, ...]
    backend: Backend
    request: str

    # -- names ----------------------------------------------------------------------------------

    def name(self, obj: Any) -> str:
        """Returns the name of an op or tensor after the steps so far; it is given by this name or as an object.

        A layer means its output.
        """
        if self.layer(obj) is not None:
            return self._current_name(self._resolver(self.base).tensor(obj))
        name = self.name_in(self.base, obj)
        return name if isinstance(obj, str) or getattr(obj, "graph", None) is None else self._current_name(name)

    def _resolver(self, graph: Graph) -> ReferenceResolver:
        return ReferenceResolver(graph, self.backend.layers(graph), self.request)

    def layer(self, obj: Any) -> Layer | None:
        """Returns the layer that is given; None if an op has the same name, even an op that a step makes."""
        layer = self._resolver(self.base).layer(obj)
        if layer is None or not self.steps or not isinstance(obj, str):
            return layer
        return None if obj in resolve(self.base, self.steps, self.backend).after.index else layer

    def _inside(self, obj: Any) -> tuple[str, ...]:
        """Returns the names of the ops and variables of a layer; empty for anything else."""
        return tuple(
            map(self._current_name, self._resolver(self.base).layer_ops(obj) if self.layer(obj) is not None else ())
        )

    def _current_name(self, name: str) -> str:
        """Converts a name from before all steps to the name after the steps so far."""
        for step in self.steps:
            if isinstance(step, RenameStep):
                name = step.renamed(name)
        return name

    def name_in(self, graph: Graph, obj: Any) -> str:
        """Returns the name of an op or tensor of a graph, given by name or as an object; refuses anything else."""
        if not is_named(obj):
            problem = f"{obj!r} is not an op or a tensor, nor the name of one"
            raise PlanError(self.request, problem, "Give the object, or its name as text: 'x' or 'x:0'")
        return str(getattr(self._own(graph, obj), "name", obj))

    def _own(self, graph: Graph, obj: Any) -> Any:
        """Refuses an op, tensor or variable that is an object of another graph."""
        owner = None if isinstance(obj, str) else getattr(obj, "graph", None)
        if owner is not None and owner is not graph.owner:
            name = str(getattr(obj, "name", obj))
            problem = f"{name!r} is an object of another graph, not of {graph.title}"
            raise PlanError(self.request, problem, "Give an object of this graph, or its name as text")
        return obj

    def tensor(self, obj: Any) -> str:
        """Returns the name of a tensor; for an op, the name of its output 0."""
        return tensor_name(self.name(obj))

    def op(self, obj: Any) -> str:
        """Returns the name of an op; for a tensor, the name of the op that computes it."""
        return self.name(obj).partition(":")[0]

    def ops(self, objects: Any) -> tuple[str, ...]:
        """Returns the names of ops given as a selection, a name, an object, or several.

        Names in a selection of the graph are converted to the names after the steps so far. A selection of the graph
        after a plan has these names already.
        """
        if isinstance(objects, Selection):
            if objects.graph.origin is not self.base.origin:
                problem = f"the selection is of another graph, {objects.graph.title}"
                raise PlanError(self.request, problem, f"Select from {self.base.title}, or give the names of the ops")
            return tuple(objects.names if objects.graph.derived else map(self._current_name, objects.names))
        one = is_named(objects) or not hasattr(objects, "__iter__")
        several = [objects] if one else objects
        return tuple(name for thing in several for name in self._inside(thing) or (self._op_or_scope(thing),))

    def ops_to_remove(self, objects: Any) -> tuple[str, ...]:
        """Returns the names of ops to remove; for a layer, also the ops that only its variables need."""
        one = isinstance(objects, Selection) or is_named(objects) or not hasattr(objects, "__iter__")
        several = [objects] if one else list(objects)
        names = [name for thing in several if not self._inside(thing) for name in self.ops(thing)]
        inside = [
            name for thing in several if self._inside(thing) for name in self._resolver(self.base).layer_ops(thing)
        ]
        if not inside:
            return tuple(names)
        index = self.base.index
        whole = with_unshared_variables(
            self.base, self.base.mask(index[name] for name in [*names, *inside] if name in index)
        )
        return tuple(
            dict.fromkeys([*names, *(self._current_name(self.base.names[i]) for i in whole.nonzero()[0].tolist())])
        )

    def _op_or_scope(self, obj: Any) -> str:
        return self.name_in(self.base, obj) if self._is_scope(obj) else self.op(obj)

    def _is_scope(self, obj: Any) -> bool:
        return isinstance(obj, str) and obj not in self.base.index and obj in self.base.scopes.index

    def single_op(self, objects: Any) -> str:
        """Returns the name of one op; for a layer, the name of the op that computes its output."""
        return self.op(objects) if is_named(objects) else self.ops(objects)[0]

    def consumer(self, obj: Any, input: int) -> tuple[str, int]:
        """Returns the name of a consumer and the index of its input; for a layer, the op that reads this input."""
        if self.layer(obj) is None:
            return self.op(obj), input
        op, at = self._resolver(self.base).consumer(obj, input)
        return self._current_name(op), at

    def consumer_or_tensor(self, obj: Any, input: int | None) -> tuple[str, int | None]:
        """Returns the same as `consumer` for a layer; for a tensor or op, its name and `input` unchanged."""
        if self.layer(obj) is None:
            return self.name(obj), input
        op, at = self.consumer(obj, input or 0)
        return op, at or input

    def op_or_scope(self, obj: Any) -> str:
        """Returns the name of an op or a scope; for a layer, the name of its only op or scope."""
        if self._is_scope(obj) or self.layer(obj) is None:
            return self._op_or_scope(obj)
        return self._current_name(self._resolver(self.base).op_or_scope(obj))

    def optional_ops(self, objects: Any) -> tuple[str, ...] | None:
        """Returns the same as `ops`; None, which means all ops, for None."""
        return None if objects is None else self.ops(objects)

    def ends(self, objects: Any) -> tuple[str, ...]:
        """Returns the names of one or more ops or tensors; empty for None."""
        if isinstance(objects, Selection):
            return self.ops(objects)
        several = () if objects is None else [objects] if is_named(objects) else objects
        return tuple(self.name(thing) for thing in several)

    def selection(self, obj: Any) -> Selection:
        """Returns the selection to plan on, given as a selection of any graph or as names of ops, scopes and layers."""
        result = obj
        if not isinstance(result, Selection):
            several = obj if isinstance(obj, (list, tuple, set, frozenset)) else [obj]
            if not all(map(is_named, several)):
                raise PlanError(self.request, f"{obj!r} is not a selection", "Make one with ed.select(...)")
            first = replace(self, steps=())  # ops to copy have their names from before all steps
            names = [name for one in several for name in first.scope_or_ops(one)[1]]
            result = selection_from(self.base, [self.base.find(name, self.request) for name in names])
        if result.graph.derived and result.graph.folded.owner is not self.base.owner:
            problem = f"the selection is of {result.graph.title} after a plan: no graph has its ops yet"
            raise PlanError(self.request, problem, "Apply that plan first, or select from the graph as it is")
        graph = self.backend.with_runtime_shapes(result.graph)
        if graph is result.graph:
            return result
        return (
            replace(result.by_names_in(graph), query=result.query) if graph.unfolded else replace(result, graph=graph)
        )

    def refuse_other_graph(self, graph: Graph, subject: str, suggestion: str) -> None:
        """Refuses ops of another graph, or of this graph after a plan, because ops have other numbers there.

        Args:
            graph: the graph.
            subject: the subject and verb of the message.
            suggestion: what to do in this graph instead.
        """
        if graph.folded.owner is not self.base.owner:
            after = graph.origin is self.base.origin
            where = f"{graph.title} after a plan" if after else f"another graph, {graph.title}"
            raise PlanError(self.request, f"{subject} of {where}", f"{suggestion} {self.base.title}")

    def scope_or_ops(self, ops: Any) -> tuple[Any, tuple[str, ...]]:
        """Returns the argument if code can show it as given (a scope, name or selection), and the names of its ops."""
        target = ops.strip("/") if isinstance(ops, str) else ops
        if is_named(target) and (inside := self._inside(target)):
            return None, inside
        if self._is_scope(target):
            mask = self.base.scope_mask(target)
            return target, tuple(self.base.names[i] for i in mask.nonzero()[0].tolist())
        by_name = isinstance(target, str) or (isinstance(target, Selection) and not target.graph.derived)
        return target if by_name else None, self.ops(target)

    def tensor_pairs(self, old: Any, new: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the names of pairs of tensors, given as two tensors, two lists, or a dict."""
        if isinstance(old, Mapping):
            if new is not None:
                problem = "the dict names both tensors, and the other argument is given too"
                raise PlanError(self.request, problem, "Give the dict alone")
            old, new = list(old), list(old.values())
        olds, news = ([x] if isinstance(x, str) or not isinstance(x, (list, tuple)) else list(x) for x in (old, new))
        if len(olds) != len(news) or new is None:
            problem = f"{counted(len(olds), 'tensors')} against {0 if new is None else len(news)}"
            raise PlanError(self.request, problem, "Give two lists of the same length, or a dict")
        first, second = ([self.tensor(thing) for thing in things] for things in (olds, news))
        if len(set(first)) < len(first):
            raise PlanError(self.request, "a tensor is named twice", "Name each tensor once")
        return tuple(first), tuple(second)

    def mapped_pairs(self, source: Graph, inputs: Mapping[Any, Any]) -> tuple[NamePairs, tuple[tuple[str, Any], ...]]:
        """Returns pairs of names, a tensor of a source and the tensor that replaces it; and tensors with constants."""
        pairs, constants = list[tuple[Any, Any]](), list[tuple[str, Any]]()
        for old, new in inputs.items():
            if _is_array(new):
                constants.append((self.tensor_in(source, old), new))
                continue
            olds, news = ([one] if isinstance(old, str) else self.backend.component_tensors(one) for one in (old, new))
            if len(olds) != len(news):
                counts = f"{type(old).__name__} is made of {counted(len(olds), 'tensors')}"
                problem = f"{counts}, and {type(new).__name__} of {len(news)}"
                suggestion = "Replace it by an object of the same kind, or map its tensors one by one"
                raise PlanError(self.request, problem, suggestion)
            pairs += zip(olds, news, strict=True)
        return tuple((self.tensor_in(source, a), self.tensor(b)) for a, b in pairs), tuple(constants)

    def tensor_in(self, source: Graph, obj: Any) -> str:
        """Returns the name of a tensor of a source; a layer of the source means its output."""
        arguments = self._resolver(source)
        return tensor_name(self.name_in(source, obj) if arguments.layer(obj) is None else arguments.tensor(obj))

    def code_name(self, obj: Any, default: str) -> str:
        """Returns the name of a function in code: its own name, if no other function of the plan has it."""
        wish = function_name(obj, default) if callable(obj) else default
        functions = {word: one for step in self.steps for word, one in step.functions.items()}
        return free_name(wish, lambda name: name in functions and functions[name] is not obj)

    def number(
        self,
        value: Any,
        word: str = "input",
        name: str = "the number of an input",
        suggestion: str = "the first input as input=0",
    ) -> int:
        """Returns a number, such as the number of an input; refuses anything else."""
        try:
            return index(value)
        except TypeError:
            raise PlanError(self.request, f"{word}={value!r} is not {name}", f"Type {suggestion}") from None

    def dtype(self, value: Any) -> str:
        """Returns the name of a dtype, given by name or as a dtype object of TensorFlow or NumPy."""
        name = value if isinstance(value, str) else str(getattr(value, "name", getattr(value, "__name__", value)))
        if name not in CASTABLE:
            problem = f"tensors cannot be cast to {name!r}"
            raise PlanError(self.request, problem, f"Choose one of {', '.join(map(repr, CASTABLE))}")
        return name

    def shape(self, value: Any) -> tuple[int | None, ...] | None:
        """Returns a shape, given as a sequence of sizes; None for None."""
        if value is None:
            return None
        try:
            return tuple(None if n is None or index(n) == -1 else index(n) for n in value)
        except TypeError:
            raise PlanError(self.request, f"shape={value!r} is not a shape", "Type it as shape=[None, 10]") from None

    # -- choices --------------------------------------------------------------------------------

    def check_choice(self, name: str, value: Any, allowed: tuple[str, ...]) -> None:
        """Refuses a value that is not allowed."""
        if value not in allowed:
            choices = ", ".join(map(repr, allowed))
            raise PlanError(self.request, f"{name}={value!r} is not known", f"Choose one of {choices}")

    def check_mapping(self, name: str, value: Any, kind: str = "a mapping") -> None:
        """Refuses a value that is not a mapping."""
        if not isinstance(value, Mapping):
            raise PlanError(self.request, f"{name}={value!r} is not {kind}", f"Give {name} as {_MAPPINGS[name]}")

    def policies(self, variables: str | Mapping[str, Any]) -> dict[str, str]:
        """Returns the treatment of variables: name or pattern -> a word, or the tensor that replaces it."""
        self.check_mapping("variables", {} if isinstance(variables, str) else variables, "a text or a mapping")
        rules = {"*": variables} if isinstance(variables, str) else {"*": "copy", **variables}
        return {rule: self.policy(rule, value) for rule, value in rules.items()}

    def policy(self, rule: str, value: Any) -> str:
        """Returns the treatment of a variable: a word, or the tensor that replaces it."""
        value = self._own(self.base, value)
        if isinstance(value, str) and value in POLICIES:
            return value
        if rule != "*" and (is_tensor(value) if isinstance(value, str) else hasattr(value, "name")):
            return tensor_name(value)
        raise PlanError(
            self.request,
            f"variables={value!r} is not known",
            f"Choose one of {', '.join(map(repr, POLICIES))}; a single variable can also be replaced by a tensor: "
            "variables={'w': 'name:0'}",
        )

    def devices(self, device: str | Mapping[str, str]) -> str | tuple[tuple[str, str], ...]:
        """Returns ``keep`` or ``clear``, or rules: old device -> new device."""
        self.check_mapping("device", {} if isinstance(device, str) else device, "a text or a mapping")
        if isinstance(device, str) and device in DEVICES:
            return device
        rules = {"*": device} if isinstance(device, str) else device
        for name in [n for pair in rules.items() for n in pair if n != "*"]:
            if device_parts(name) is None:
                raise PlanError(
                    self.request,
                    f"device={name!r} is not a device",
                    "Choose 'clear', 'keep', a device such as '/cpu:0' or '/job:ps/task:1', or {old: new}",
                )
        return tuple(rules.items())


def display_text(objects: Any) -> Any:
    """Returns the text of an argument, for a message."""
    if isinstance(objects, Selection):
        return counted(len(objects), "ops")
    # A tensor is an Iterable, but cannot be iterated.
    if is_named(objects) or not isinstance(objects, Iterable):
        return str(getattr(objects, "name", objects))
    return [str(getattr(thing, "name", thing)) for thing in objects]


def display_name(name: Callable[[Any], str], obj: Any) -> str:
    """Returns the text of one given object for a message; `name` returns the name of an op or tensor."""
    return repr(name(obj) if is_named(obj) else obj)


def _is_array(obj: Any) -> bool:
    """Returns whether something is an array, a number, or a list of numbers."""
    if isinstance(obj, (list, tuple)):
        return not any(map(is_named, obj))
    return isinstance(obj, (bool, int, float, complex, bytes)) or (hasattr(obj, "__array__") and not is_named(obj))


def is_named(obj: Any) -> bool:
    """Returns whether something is a name, or an object that has one."""
    return isinstance(obj, str) or hasattr(obj, "name")
