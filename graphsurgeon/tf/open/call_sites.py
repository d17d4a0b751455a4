"""Adds a call of a function to the graph of a SavedModel, so that the function can be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...errors import OpenError, few, nearest
from ...graph.names import free_name, op_name
from ..messages import meta_graph_pb2, tensor_shape_pb2
from ..values.file_variables import asset_files


def capture_tensors(meta: Any) -> tuple[dict[str, int], set[str]]:
    """Returns the tensors of the graph that functions capture, with the numbers of their objects.

    Returns:
        tensor -> number of its object; and the functions with more captures in the object graph than inputs of a call.
    """
    objects = meta.object_graph_def
    captures: dict[str, int] = {}
    odd: set[str] = set()
    for node in meta.graph_def.node:
        function = node.attr["f"].func.name if "f" in node.attr else ""
        if function not in objects.concrete_functions:
            continue
        bound = list(objects.concrete_functions[function].bound_inputs)
        data = [text for text in node.input if text[0] != "^"]
        if len(bound) > len(data):
            odd.add(function)
            continue
        captures.update(zip(data[len(data) - len(bound) :], bound, strict=True))
    return captures, odd


def object_paths(objects: Any) -> dict[int, str]:
    """Returns object number -> its path in `attribute_paths` from the saved object."""

    def children(at: int) -> Iterator[tuple[str, int]]:
        for child in objects.nodes[at].children:
            if 0 <= child.node_id < len(objects.nodes):
                yield child.local_name, child.node_id

    return attribute_paths(0, children) if objects.nodes else {}


def attribute_paths(root: int, children: Callable[[int], Iterable[tuple[str, int]]]) -> dict[int, str]:
    """Returns object -> the shortest path of attributes to it, with slashes; private names only if there are no others.

    Args:
        root: the number of the first object.
        children: object -> its attributes, by name.

    Example:
        >>> graph = {0: [("_all", 1), ("net", 2)], 1: [("0", 3), ("1", 4)], 2: [("w", 3)], 3: [], 4: []}
        >>> attribute_paths(0, graph.__getitem__)
        {0: '', 2: 'net', 3: 'net/w', 1: '_all', 4: '_all/1'}
    """
    ways = {root: ""}
    for private in (False, True):
        todo = list(ways)
        for at in todo:
            for name, child in children(at):
                if child not in ways and (private or name[:1] != "_"):
                    ways[child] = f"{ways[at]}/{name}".strip("/")
                    todo.append(child)
    return ways


def functions(meta: Any) -> dict[str, list[str]]:
    """Returns attribute path of a function, from the saved object -> the names of its traces."""
    objects = meta.object_graph_def
    ways = object_paths(objects)
    traces = {}
    for number, node in enumerate(objects.nodes):
        way = ways.get(number, "").replace("/", ".")
        if node.WhichOneof("kind") == "function" and way and not way.rpartition(".")[2].startswith("_create"):
            traces[way] = list(node.function.concrete_functions)
    return traces


def meta_with_call(meta: Any, name: Any, request: str) -> tuple[Any, dict[str, str], dict[str, str]]:
    """Returns a MetaGraph with a call of a function, and the tensors of its arguments and of its results, by name.

    Args:
        meta: the MetaGraphDef; it is not changed.
        name: the function: its name in the library, or its attribute path from the saved object, for example
            ``"encoder.forward"``.
        request: the request, for messages.

    Raises:
        OpenError: the function does not exist, it has several traces, or it captures something that no op of the file
            makes.
    """
    library = {function.signature.name: function for function in meta.graph_def.library.function}
    function_traces = functions(meta)
    traces = [name] if name in library else [trace for trace in function_traces.get(name, ()) if trace in library]
    if len(traces) != 1:
        if traces:
            raise OpenError(request, f"function {name!r} was traced {len(traces)} times", _choose(traces))
        names = list(function_traces) or sorted(library)
        near = nearest(name, names) if isinstance(name, str) else []
        how = _choose(near or names) if names else "It has no functions: leave out function="
        raise OpenError(request, f"it has no function {name!r}", how)
    return _Call(meta, library[traces[0]], request).build()


def _choose(names: list[str]) -> str:
    return f"Choose function={names[0]!r}" + (f", or one of {few(map(repr, names[1:]), 5)}" if names[1:] else "")


class _Call:
    def __init__(self, meta: Any, function: Any, request: str) -> None:
        self.made_of, self.function, self.request = meta, function, request
        self.meta = meta_graph_pb2.MetaGraphDef()
        self.meta.CopyFrom(meta)
        self.graph = self.meta.graph_def
        self.names = {node.name for node in self.graph.node}

    def build(self) -> tuple[Any, dict[str, str], dict[str, str]]:
        """Returns the graph with the call, the arguments, and the results."""
        signature, name = self.function.signature, self.function.signature.name
        about = self.meta.object_graph_def.concrete_functions
        captures = list(about[name].bound_inputs) if name in about else []
        count = len(signature.input_arg) - len(captures)
        if count < 0:
            captures, count = [], len(signature.input_arg)
        inputs: dict[str, str] = {}
        texts = [self._argument(i, inputs) for i in range(count)]
        texts += self._captures(captures, count, inputs)
        call = self._add("StatefulPartitionedCall", texts)
        call.attr["f"].func.name = name
        call.attr["Tin"].list.type.extend(a.type for a in signature.input_arg)
        call.attr["Tout"].list.type.extend(a.type for a in signature.output_arg)
        keys = list(_keys(about[name].output_signature)) if name in about else []
        results = [f"output_{i}" for i in range(len(signature.output_arg))]
        keys = keys if len(set(keys)) == len(results) else results
        return self.meta, inputs, {key: f"{call.name}:{i}" for i, key in enumerate(keys)}

    def _argument(self, i: int, inputs: dict[str, str]) -> str:
        """Makes a tensor for an argument of the function, and adds its name to the inputs."""
        argument = self.function.signature.input_arg[i]
        attributes = self.function.arg_attr[i].attr if i in self.function.arg_attr else {}
        argument_name = (
            attributes["_user_specified_name"].s.decode() if "_user_specified_name" in attributes else argument.name
        )
        text = self._placeholder(argument.type, attributes)
        inputs[free_name(argument_name or argument.name, inputs.__contains__)] = text
        return text

    def _placeholder(self, dtype: int, attributes: Any) -> str:
        node = self._add("Placeholder", [])
        node.attr["dtype"].type = dtype
        shapes: Any = attributes["_output_shapes"].list.shape if "_output_shapes" in attributes else ()
        unknown = tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
        node.attr["shape"].shape.CopyFrom(shapes[0] if len(shapes) == 1 else unknown)
        return f"{node.name}:0"

    def _captures(self, captures: list[int], count: int, inputs: dict[str, str]) -> Iterator[str]:
        """Yields the captured tensors of a function, which follow its arguments.

        A gradient captures tensors that exist only inside its function; these become inputs.
        """
        numbers, _ = capture_tensors(self.made_of)
        tensors = {number: text for text, number in numbers.items()}
        for i, number in enumerate(captures, count):
            text = tensors.get(number) or self._object(number)
            if not text and self._kind(number) == "captured_tensor":
                text = self._argument(i, inputs)
            if not text:
                argument, name = self.function.signature.input_arg[i].name, self.function.signature.name
                problem = f"its function {name!r} captures {argument!r}, which no op of the file makes"
                raise OpenError(self.request, problem, "Open a signature, or the graph as stored: raw=True")
            tensors[number] = text
            yield text

    def _kind(self, number: int) -> str:
        objects = self.meta.object_graph_def.nodes
        return str(objects[number].WhichOneof("kind")) if 0 <= number < len(objects) else ""

    def _object(self, number: int) -> str:
        """Returns the tensor for an object of the object graph; empty if it cannot be made."""
        object_kind = self._kind(number)
        if not object_kind:
            return ""
        entry = self.meta.object_graph_def.nodes[number]
        if object_kind == "variable":
            node = self._add("VarHandleOp", [], entry.variable.name)
            node.attr["dtype"].type = entry.variable.dtype
            node.attr["shape"].shape.CopyFrom(entry.variable.shape)
            return f"{node.name}:0"
        if object_kind == "constant" and entry.constant.operation in self.names:
            return f"{entry.constant.operation}:0"
        if object_kind == "asset" and entry.asset.asset_file_def_index < len(asset_files(self.meta)):
            text = str(asset_files(self.meta)[entry.asset.asset_file_def_index].tensor_info.name)
            return text if op_name(text) in self.names else ""
        return ""

    def _add(self, op_type: str, texts: Sequence[str], preferred: str = "") -> Any:
        name = free_name(preferred or f"called_{op_type}", self.names.__contains__, as_tensorflow=True)
        self.names.add(name)
        return self.graph.node.add(name=name, op=op_type, input=texts)


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """Yields the names of the results of a function: keys and positions in its return value, joined by "_"."""
    kind = value.WhichOneof("kind")
    if kind == "dict_value":
        for key in sorted(value.dict_value.fields):
            yield from _keys(value.dict_value.fields[key], f"{path}_{key}")
    elif kind in ("list_value", "tuple_value"):
        for i, item in enumerate(getattr(value, kind).values):
            yield from _keys(item, f"{path or '_output'}_{i}")
    elif kind == "named_tuple_value":
        for pair in value.named_tuple_value.values:
            yield from _keys(pair.value, f"{path}_{pair.key}")
    elif kind is not None and kind != "none_value":
        yield path.removeprefix("_") or "output"
