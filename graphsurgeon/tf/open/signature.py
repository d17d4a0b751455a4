"""Extracts signatures and functions of a TF2 SavedModel as plain graphs from its protos, without loading it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...errors import OpenError, few, nearest
from ...graph.functions import NAMES_OF_GRADIENTS, READ_BY_GRADIENT, functions_in_node, own_gradient
from ...graph.graph import TensorInfo
from ...graph.names import colocate, free_name, op_name, plain_name, rename_input, tensor_name
from ...graph.open_graph import DEFAULT, Signature
from ...graph.traversal import follow_chain, reachable_from
from ...graph.types import TFGraphDef, TFNodeDef
from ..functions.expand import FlattenedFunction, constant, copy_node, set_call
from ..messages import meta_graph_pb2, node_def_pb2, struct_pb2, tensor_pb2, tensor_shape_pb2, types_pb2, variable_pb2
from ..op_types import op_definition
from ..protos import encode
from ..run.errors import errors_as
from ..values.checkpoint_reader import Checkpoint
from ..values.file_variables import INIT, asset_files, asset_path
from .outputs import array_in, dims_of_proto, dtype_name

#: Most ops have these types, and they call no functions.
_VARIABLE_TYPES = frozenset(
    {"AssignVariableOp", "Const", "ReadVariableOp", "RestoreV2", "VarHandleOp", "VarIsInitializedOp"}
)
_VARIABLE_SUFFIXES = ("/Assign", "/Initializer/key", "/Initializer/value", "/IsInitialized", "/Read/ReadVariableOp")


@dataclass
class ServingGraph:
    """A signature or a function of a SavedModel as a plain graph.

    Args:
        meta: the MetaGraph: its graph, the functions it calls, its variables and the ops that fill its tables.
        inputs: argument -> name of its tensor.
        outputs: result -> name of its tensor.
        keys: variable op -> key of its value in the checkpoint.
        objects: variable op -> number of its object in the object graph, if it is known.
        valueless_variables: the number of variables without a value in the checkpoint.
        omitted_ops: the number of ops of the file that are left out: ops that save, restore or belong to other
            signatures.
        notes: remarks for the user.
    """

    meta: Any
    inputs: dict[str, str]
    outputs: dict[str, str]
    keys: dict[str, str] = field(default_factory=dict)
    objects: dict[str, int] = field(default_factory=dict)
    valueless_variables: int = 0
    omitted_ops: int = 0
    notes: list[str] = field(default_factory=list)


def signatures(meta: Any) -> tuple[Signature, ...]:
    """Returns the signatures of a MetaGraph, sorted by name, ``serving_default`` first."""
    names = sorted((n for n in meta.signature_def if not n.startswith("__")), key=lambda n: (n != DEFAULT, n))
    abouts = {name: meta.signature_def[name] for name in names}
    return tuple(
        Signature(name, _tensor_infos(about.inputs), _tensor_infos(about.outputs), _defaults(about))
        for name, about in abouts.items()
    )


def _defaults(signature: Any) -> dict[str, Any]:
    """Returns argument -> array for the defaults of a signature; those that NumPy cannot hold are left out."""
    arrays = {key: array_in(signature.defaults[key]) for key in sorted(signature.defaults)}
    return {key: array for key, array in arrays.items() if array is not None}


def _tensor_infos(infos: Mapping[str, Any]) -> dict[str, TensorInfo]:
    return {
        key: TensorInfo(dtype_name(info.dtype), dims_of_proto(info.tensor_shape)) for key, info in sorted(infos.items())
    }


def extract_signature(
    meta: Any,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    title: str,
    folder: str,
    checkpoint: Checkpoint | None,
    request: str,
) -> ServingGraph:
    """Returns the computation of a signature as a separate graph.

    Its arguments become placeholders with the same names. Its variables are named as in the object graph, and its ops
    as in their function.

    Args:
        meta: the MetaGraphDef of a SavedModel.
        inputs, outputs: argument or result -> the tensor of the graph.
        title: the name of the signature or function, for messages.
        folder: the folder of the SavedModel, for its assets.
        checkpoint: the values of its variables; None if there are none.
        request: the request, for messages.

    Raises:
        OpenError: a tensor is not in the graph, or the file is damaged.
    """
    names = {node.name for node in meta.graph_def.node}
    for node in meta.graph_def.node:
        absent = [text for text in node.input if op_name(text) not in names]
        if absent:
            how = "Fetch or write the file again"
            raise OpenError(request, f"op {node.name!r} reads {absent[0]!r}, which is not in the graph", how)
    lost = [f"{key!r} is tensor {text!r}" for key, text in {**inputs, **outputs}.items() if op_name(text) not in names]
    if lost or not outputs:
        problem = f"{title} has " + (f"tensors that are not in the graph: {few(lost)}" if lost else "no result")
        raise OpenError(request, problem, "Open another signature, or the graph as stored: raw=True")
    problem, how = f"{title} cannot be read, because the file is damaged", "Open the graph as stored: raw=True"
    with errors_as(OpenError, request, problem, how, LookupError):
        return _SignatureExtractor(meta, folder, checkpoint, request).extract(inputs, outputs)


def signature_tensors(meta: Any, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the tensors of the graph that a signature feeds and fetches, by argument and result."""
    return _parts(meta.signature_def[name].inputs), _parts(meta.signature_def[name].outputs)


def _parts(infos: Mapping[str, Any]) -> dict[str, str]:
    """Returns the tensors of a signature by name; names of parts of a composite tensor have a suffix."""
    tensors = {}
    for key, info in sorted(infos.items()):
        if info.WhichOneof("encoding") == "coo_sparse":
            for name in part_names("SparseTensor", 3):
                tensors[f"{key}_{name}"] = getattr(info.coo_sparse, f"{name}_tensor_name")
        elif info.WhichOneof("encoding") == "composite_tensor":
            parts, kind = info.composite_tensor.components, info.composite_tensor.type_spec.type_spec_class
            names = part_names(_COMPOSITES.get(kind, ""), len(parts))
            tensors |= {f"{key}_{name}": part.name for name, part in zip(names, parts, strict=True)}
        else:
            tensors[key] = info.name
    return tensors


#: Number of a kind of composite tensors -> its class.
_COMPOSITES = {
    struct_pb2.TypeSpecProto.RAGGED_TENSOR_SPEC: "RaggedTensor",
    struct_pb2.TypeSpecProto.INDEXED_SLICES_SPEC: "IndexedSlices",
}


def part_names(kind: str, count: int) -> list[str]:
    """Returns the names of the component tensors of a composite tensor, in TensorFlow's order.

    Args:
        kind: the class of the composite tensor.
        count: the number of components.

    Example:
        >>> part_names("RaggedTensor", 3), part_names("IndexedSlices", 2), part_names("Other", 2)
        (['values', 'row_splits_0', 'row_splits_1'], ['values', 'indices'], ['0', '1'])
    """
    if kind == "RaggedTensor":
        return ["values", *([f"row_splits_{i}" for i in range(count - 1)] if count > 2 else ["row_splits"])]
    names = {"SparseTensor": ["indices", "values"], "IndexedSlices": ["values", "indices"]}
    return [*names[kind], "dense_shape"][:count] if kind in names else [str(i) for i in range(count)]


class _SignatureExtractor:
    """Extracts a part of a SavedModel as a graph."""

    def __init__(self, meta: Any, folder: str, checkpoint: Checkpoint | None, request: str) -> None:
        self.meta, self.folder, self.checkpoint, self.request = meta, folder, checkpoint, request
        self.functions = {function.signature.name: function for function in meta.graph_def.library.function}
        self.notes: list[str] = []
        self._store_gradient_inputs()

    def extract(self, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> ServingGraph:
        assets = self._assets()
        nodes = {node.name: assets.get(node.name, node) for node in self.meta.graph_def.node}
        number = {name: i for i, name in enumerate(nodes)}
        # The ops of the graph have temporary names with "#" until the names in the functions are known.
        temporary = {name: f"#{i}" for name, i in number.items()}
        origin = {new: name for name, new in temporary.items()}
        roots = [*map(op_name, [*outputs.values(), *inputs.values()]), *self._runs(nodes)]
        reached = reachable_from(roots, lambda name: map(op_name, nodes[name].input))
        flat = FlattenedFunction(
            [_rename_node(copy_node(nodes[name]), temporary) for name in nodes if name in reached], self.functions
        )
        ends = flat.inline_outer(rename_input(text, temporary) for text in outputs.values())
        arguments = {key: rename_input(text, temporary) for key, text in inputs.items()}
        main = flat.required_ops([*ends, *arguments.values()])
        handles = [name for name in main if name in origin and _is_handle(flat.nodes[name])]
        fills = self._fills(nodes, number, flat, set(handles))
        makers = flat.required_ops(handles)
        flat.inline_inner([*handles, *fills], main.keys() - makers.keys())
        fills = [op for fill in fills for op in flat.effect_ops(fill)]
        needed_names = flat.required_ops([*ends, *arguments.values(), *fills])
        ends = [flat.resolve(tensor) for tensor in ends]
        placed_names = [name for name in needed_names if name in origin]
        handles = [name for name in placed_names if flat.nodes[name].op == "VarHandleOp"]
        order = {name: self._objects.get(origin[name], len(number)) for name in handles}
        variables = {name: origin[name] for name in sorted(handles, key=lambda n: (order[n], int(n[1:])))}
        names = self._names(flat, placed_names, origin, {tensor: key for key, tensor in arguments.items()}, variables)
        new = {name: names.get(name, flat.names.get(name, name)) for name in needed_names}
        ordered_names = [name for name in flat.nodes if name in needed_names]
        meta = meta_graph_pb2.MetaGraphDef()
        meta.meta_info_def.CopyFrom(self.meta.meta_info_def)
        meta.graph_def.versions.CopyFrom(self.meta.graph_def.versions)
        keys = self._variables(meta, {new[name]: (flat.nodes[name], origin[name]) for name in variables})
        first = len(meta.graph_def.node)
        meta.graph_def.node.extend(
            _rename_node(flat.nodes[name], new) for name in ordered_names if name not in variables
        )
        self._gradients(meta.graph_def.node[first:])
        self._library(meta, meta.graph_def.node[first:])
        if fills:
            meta.collection_def["table_initializer"].node_list.value.extend(new[op] for op in fills)
        paths = [f"{new[temporary[name]]}:0" for name in assets if temporary[name] in needed_names]
        if paths:
            meta.collection_def["asset_filepaths"].node_list.value.extend(paths)
        for call, why in flat.stays.items():
            if call in needed_names:
                self.notes.append(f"{new[call]!r} is not inlined: {why}")
        kept_names = {origin[name] for name in placed_names} | {op_name(text) for text in outputs.values()}
        return ServingGraph(
            meta,
            {key: tensor_name(rename_input(tensor, new)) for key, tensor in arguments.items()},
            {key: tensor_name(rename_input(tensor, new)) for key, tensor in zip(outputs, ends, strict=True)},
            keys,
            {new[name]: self._objects[origin[name]] for name in variables if origin[name] in self._objects},
            len(variables) - len(keys),
            len(nodes) - len(kept_names & nodes.keys()),
            self.notes,
        )

    def _fills(
        self, nodes: Mapping[str, Any], number: Mapping[str, int], flat: FlattenedFunction, handles: set[str]
    ) -> list[str]:
        """Returns the ops that the loader runs once and that use one of these handles."""
        loaders = [f"#{number[name]}" for name in self._runs(nodes)]
        return sorted(op for op in loaders if handles.intersection(flat.required_ops([op])))

    def _runs(self, nodes: Mapping[str, Any]) -> list[str]:
        """Returns the ops that the loader runs once."""
        if INIT not in self.meta.signature_def:
            return []
        start = op_name(self.meta.signature_def[INIT].outputs[INIT].name)

        def passes(name: str) -> bool:
            return nodes[name].op in ("NoOp", "Identity")

        run = reachable_from([start] * (start in nodes), lambda n: map(op_name, nodes[n].input) if passes(n) else ())
        return [name for name in run if not passes(name)]

    def _assets(self) -> dict[str, Any]:
        """Returns op that outputs the path of an asset -> a constant with this path.

        An init op may assign the path to a variable; reads of this variable are replaced too.
        """
        nodes = {node.name: node for node in self.meta.graph_def.node}
        files = {op_name(a.tensor_info.name): a.filename for a in asset_files(self.meta)}

        def source(name: str) -> str | None:
            passes = name not in files and nodes[name].op == "Identity"
            return op_name(nodes[name].input[0]) if passes else None

        paths = {op_name(node.input[0]): files.get(follow_chain(op_name(node.input[1]), source), "")
                for node in nodes.values() if node.op == "AssignVariableOp"}  # fmt: skip
        reads = {node.name: paths[op_name(node.input[0])] for node in nodes.values()
                if node.op == "ReadVariableOp" and paths.get(op_name(node.input[0]))}  # fmt: skip
        constants = {}
        for name, filename in {**files, **reads}.items():
            path = asset_path(self.folder, filename, self.request)
            constants[name] = _text(name, path.encode())
        return constants

    # -- names ----------------------------------------------------------------------------------

    def _names(
        self, flat: FlattenedFunction, ops: Sequence[str], origin: Mapping[str, str], arguments: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> dict[str, str]:  # fmt: skip
        """Returns new names for the ops of the graph: public names for arguments and variables, old ones for others."""
        used_names = {flat.names.get(name, name).lower() for name in flat.nodes}
        wishes = {name: self._variable_name(origin[name]) for name in variables}
        often = Counter(wishes.values())
        names = {}

        def free(preferred: str, parts: Sequence[str] = ()) -> str:
            def is_used(name: str) -> bool:
                return any(name.lower() + part.lower() in used_names for part in ("", *parts))

            name = free_name(preferred, is_used, as_tensorflow=True)
            used_names.update(name.lower() + part.lower() for part in ("", *parts))
            return name

        for name in sorted(ops, key=lambda n: (f"{n}:0" not in arguments, n not in variables, int(n[1:]))):
            if f"{name}:0" in arguments:
                names[name] = free(plain_name(arguments[f"{name}:0"], "arg"))
            elif name in variables:
                wish = wishes[name]
                if often[wish] > 1:
                    wish = self._paths.get(self._objects.get(origin[name], -1)) or wish
                names[name] = free(plain_name(wish, "arg"), _VARIABLE_SUFFIXES)
            else:
                names[name] = free(origin[name])
        return names

    def _variable_name(self, handle: str) -> str:
        """Returns the name of the variable of a handle in the object graph, otherwise the name of the handle."""
        number = self._objects.get(handle)
        return str(self.meta.object_graph_def.nodes[number].variable.name if number is not None else "") or handle

    @cached_property
    def _objects(self) -> dict[str, int]:
        """Returns variable handle -> number of its object, from the functions that capture the handle."""
        objects = self.meta.object_graph_def.nodes
        captures, odd = capture_tensors(self.meta)
        handles = {}
        for node in self.meta.graph_def.node:
            if node.op != "VarHandleOp":
                continue
            number = captures.get(node.name, captures.get(f"{node.name}:0"))
            if number is None:
                continue
            variable = objects[number].variable if 0 <= number < len(objects) else None
            if (
                variable is None
                or variable.dtype != node.attr["dtype"].type
                or variable.shape != node.attr["shape"].shape
            ):
                odd.add(node.name)
            else:
                handles[node.name] = number
        if odd:
            self.notes.append(
                f"the object graph does not match the functions ({few(map(repr, sorted(odd)))}): such variables keep "
                "their names in the graph"
            )
        return handles

    @cached_property
    def _frozen(self) -> frozenset[int]:
        """Returns the variables that are not trained, from the lists of Keras: the variables do not have this fact."""
        nodes = self.meta.object_graph_def.nodes

        def children(number: int) -> dict[str, int]:
            here = nodes[number].children if number < len(nodes) else ()
            return {child.local_name: child.node_id for child in here if 0 <= child.node_id < len(nodes)}

        def listed(name: str) -> set[int]:
            """Returns the variables in a list of the saved object; a variable of Keras 3 contains another variable."""
            items = children(children(0).get(name, len(nodes))).values()
            return {number for item in items for number in (item, *children(item).values())}

        if "trainable_variables" not in children(0):
            return frozenset()
        return frozenset((listed("variables") | listed("non_trainable_variables")) - listed("trainable_variables"))

    @cached_property
    def _paths(self) -> dict[int, str]:
        return object_paths(self.meta.object_graph_def)

    # -- variables ------------------------------------------------------------------------------

    @cached_property
    def _keys(self) -> dict[int, str]:
        """Returns object -> key of its value, from the object graph of the checkpoint, by names of children."""
        if self.checkpoint is None:
            return {}
        nodes, saved = self.meta.object_graph_def.nodes, self.checkpoint.objects
        keys: dict[int, str] = {}
        visited, todo = {0}, [(0, 0)] if saved and nodes else []
        for mine, theirs in todo:
            for attribute in saved[theirs].attributes:
                if attribute.checkpoint_key in self.checkpoint.shapes:
                    keys.setdefault(mine, attribute.checkpoint_key)
            children = {child.local_name: child.node_id for child in saved[theirs].children}
            for child in nodes[mine].children:
                if child.local_name in children and child.node_id not in visited and child.node_id < len(nodes):
                    visited.add(child.node_id)
                    todo.append((child.node_id, children[child.local_name]))
        return keys

    def _variables(self, meta: Any, handles: Mapping[str, tuple[Any, str]]) -> dict[str, str]:
        """Adds ops that read and set the variables of handles, and adds the variables to collections."""
        graph = meta.graph_def
        keys: dict[str, str] = {}
        templates: dict[tuple[int, bytes], dict[str, Any]] = {}
        prefix = "" if self.checkpoint is None else self.checkpoint.prefix
        objects = self.meta.object_graph_def.nodes
        for name, (node, handle) in handles.items():
            number = self._objects.get(handle)
            key = self._keys.get(number, "") if number is not None else self._key_of(handle)
            node = _rename_node(node, {node.name: name})
            node.attr["shared_name"].s = name.encode()
            graph.node.append(node)
            dtype, shape = node.attr["dtype"], node.attr["shape"]
            if key and not keys:
                graph.node.append(_text("checkpoint/prefix", prefix.encode()))
                graph.node.append(_text("checkpoint/whole", [b""]))
            value, assign, snapshot = f"{name}/Initializer/value", f"{name}/Assign", f"{name}/Read/ReadVariableOp"
            alike = dtype.type, encode(shape)
            if alike not in templates:
                templates[alike] = _variable_ops(dtype, shape)
            if key:
                keys[name] = key
                key_op = _add(graph, templates[alike]["Const"], f"{name}/Initializer/key")
                key_op.attr["value"].tensor.string_val.append(key.encode())
                reads = ["checkpoint/prefix", f"{name}/Initializer/key", "checkpoint/whole"]
                _add(graph, templates[alike]["RestoreV2"], value, reads)
            else:
                _add(graph, templates[alike]["Placeholder"], value)
            _add(graph, templates[alike]["AssignVariableOp"], assign, [name, value])
            _add(graph, templates[alike]["VarIsInitializedOp"], f"{name}/IsInitialized", [name])
            _add(graph, templates[alike]["ReadVariableOp"], snapshot, [name])
            about = variable_pb2.VariableDef(
                variable_name=f"{name}:0", initializer_name=assign, initial_value_name=f"{value}:0",
                snapshot_name=f"{snapshot}:0", is_resource=True,
                trainable=number is not None and objects[number].variable.trainable and number not in self._frozen,
            )  # fmt: skip
            data = encode(about)
            meta.collection_def["variables"].bytes_list.value.append(data)
            if about.trainable:
                meta.collection_def["trainable_variables"].bytes_list.value.append(data)
        return keys

    def _key_of(self, name: str) -> str:
        """Returns the key of a variable if only its name is known."""
        return self.checkpoint.names.get(name, "") if self.checkpoint is not None else ""

    def _gradients(self, nodes: Sequence[TFNodeDef]) -> None:
        """Moves the names of gradients to another attribute: they are valid only in the process of the writer."""
        unused = []
        for node in nodes:
            if "_gradient_op_type" in node.attr:
                name = node.attr["_gradient_op_type"].s
                if name.startswith(b"CustomGradient"):
                    unused.append(node.name)
                del node.attr["_gradient_op_type"]
                if name.decode("utf-8", "replace") in self._named_gradients:
                    node.attr["_saved_gradient"].s = name
        if unused:
            names = few(map(repr, unused))
            self.notes.append(f"the tf.custom_gradient of {names} is not used: gradients are those of the computed ops")

    @cached_property
    def _named_gradients(self) -> dict[str, str]:
        """Returns name of a gradient -> its function."""
        library = self.meta.graph_def.library
        gradient_functions = {
            gradient.registered_op_type: gradient.gradient_func for gradient in library.registered_gradients
        }
        return {name: function for name, function in gradient_functions.items() if function in self.functions}

    def _store_gradient_inputs(self) -> None:
        """Stores in each op with a custom gradient which tensors of its function the gradient reads."""
        objects = self.meta.object_graph_def
        for function in self.functions.values() if self._named_gradients else ():
            for node in function.node_def:
                slope = self._named_gradients.get(own_gradient(node), "")
                bound = objects.concrete_functions[slope].bound_inputs if slope in objects.concrete_functions else ()
                captures = [objects.nodes[n].captured_tensor for n in bound if 0 <= n < len(objects.nodes)]
                tensors = [
                    capture.name if capture.concrete_function == function.signature.name else "" for capture in captures
                ]
                if tensors and READ_BY_GRADIENT not in node.attr:
                    node.attr[READ_BY_GRADIENT].list.s.extend(text.encode() for text in (node.name, *tensors))

    def _library(self, meta: Any, nodes: Sequence[TFNodeDef]) -> None:
        """Copies the functions that these nodes still call, with their gradients."""
        library, definitions, gradient_names = self.meta.graph_def.library, self.functions, self._named_gradients
        gradients = {g.function_name: [g.gradient_func] for g in library.gradient if g.gradient_func in definitions}

        def called(node: TFNodeDef) -> list[str]:
            keys = [node.attr[key].s.decode("utf-8", "replace") for key in NAMES_OF_GRADIENTS if key in node.attr]
            return [
                *functions_in_node(node, definitions),
                *(gradient_names[key] for key in keys if key in gradient_names),
            ]

        def leads_to(name: str) -> list[str]:
            return [
                *(callee for node in definitions[name].node_def for callee in called(node)),
                *gradients.get(name, ()),
            ]

        reached = reachable_from(
            [name for node in nodes if node.op not in _VARIABLE_TYPES for name in called(node)], leads_to
        )
        mine = meta.graph_def.library
        mine.function.extend(f for f in library.function if f.signature.name in reached)
        mine.gradient.extend(g for g in library.gradient if g.function_name in reached)
        mine.registered_gradients.extend(g for g in library.registered_gradients if g.gradient_func in reached)


def _is_handle(node: TFNodeDef) -> bool:
    """Whether an op outputs the handle of a variable or table, or is a call that makes one."""
    about = op_definition(node.op)
    types = {out.type for out in about.output_arg} if about is not None else set()
    types |= set(node.attr["Tout"].list.type) if "Tout" in node.attr else set()
    return bool(types & {types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT})


def _variable_ops(dtype: Any, shape: Any) -> dict[str, Any]:
    """Returns NodeDefs for the ops of a variable of a dtype and shape, by op type, without names and inputs."""
    kinds = ("Placeholder", "RestoreV2", "AssignVariableOp", "VarIsInitializedOp", "ReadVariableOp")
    nodes = {op_type: node_def_pb2.NodeDef(op=op_type) for op_type in kinds}
    for op_type in ("Placeholder", "AssignVariableOp", "ReadVariableOp"):
        nodes[op_type].attr["dtype"].CopyFrom(dtype)
    nodes["Placeholder"].attr["shape"].CopyFrom(shape)
    nodes["RestoreV2"].attr["dtypes"].list.type.append(dtype.type)
    nodes["Const"] = _text("", [b""])
    del nodes["Const"].attr["value"].tensor.string_val[:]
    for op_type in ("RestoreV2", "ReadVariableOp"):
        nodes[op_type].attr["_output_shapes"].list.shape.append(shape.shape)
    nodes["VarIsInitializedOp"].attr["_output_shapes"].list.shape.add()
    return nodes


def _add(graph: TFGraphDef, template: TFNodeDef, name: str, reads: Sequence[str] = ()) -> Any:
    """Adds a copy of a node to a GraphDef, with a new name and new inputs; returns it."""
    node = graph.node.add()
    node.CopyFrom(template)
    node.name = name
    node.input.extend(reads)
    return node


def _rename_node(node: TFNodeDef, new: Mapping[str, str]) -> Any:
    """Returns a node with new names: its own name, its inputs and its colocations."""
    old, inputs = node.name, list(node.input)
    name, reads = new.get(old, old), [rename_input(text, new) for text in inputs]
    if name != old:
        node.name = name
    if reads != inputs:
        node.input[:] = reads
    colocate(node, new)
    return node


def _text(name: str, value: bytes | list[bytes]) -> Any:
    """Returns a constant with a string, or with a list of strings."""
    texts = [value] if isinstance(value, bytes) else value
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=texts)
    tensor.tensor_shape.SetInParent()
    if not isinstance(value, bytes):
        tensor.tensor_shape.dim.add(size=len(texts))
    return constant(name, tensor)


# -- functions ------------------------------------------------------------------------------------


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
        set_call(call, signature)
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
