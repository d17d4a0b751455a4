"""Plan: the changes to make to a graph, as an immutable value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from ..errors import PlanError, counted, naming_memory
from ..graph.graph import Graph
from ..graph.layers import Layer
from ..graph.names import op_name, tensor_name
from ..graph.pattern import Pattern, PatternLike
from ..graph.pattern_match import Match, Matches
from ..graph.selection import Selection
from ..graph.types import (
    AttributeValue,
    DTypeLike,
    FeedDict,
    Named,
    OpLike,
    OpsLike,
    ShapeLike,
    TensorLike,
    TensorMap,
    TensorsLike,
    ValueSource,
)
from .adapters import AdapterSpec, as_tuples, option_fault
from .arguments import Arguments, display_name, display_text, is_named, with_inlined_calls
from .backend import Backend
from .code import plan_code
from .fault import Fault, Fix
from .plan_result import PlanResult
from .preview import Preview
from .resolver import resolve
from .steps.base import MutedStep, Role, Step, one_line, scope_change, steps_text, unwrap_muted, with_names
from .steps.condition import ConditionStep
from .steps.copy import COLLECTIONS, CONTROL, SEEDS, UNMAPPED, CopyStep
from .steps.edit import BypassStep, RemoveStep, RenameStep, SetStep, later_steps
from .steps.functions import CollapseStep, InlineStep, UnrollStep
from .steps.insert import AdaptStep, InsertStep
from .steps.on_copies import ASSIGN, INITIAL_COLLECTIONS, OnCopiesStep
from .steps.replace import EXTERNAL, ReplaceStep
from .steps.wiring import SIDES, ConnectStep, ControlStep, DetachStep, RerouteControlStep, RerouteStep, SwapStep


@dataclass(frozen=True, eq=False)
class Plan:
    """A list of steps that change a graph, the destination. Each method returns a new plan with one more step.

    The graph does not change before `Editor.apply`. A plan that edits existing ops builds a new graph; see `mode`. With
    `on_copies`, the earlier edits are made on copies of the ops instead, and the existing ops do not change.

    Methods with an op or a tensor as argument also accept the name of a Keras layer, unless an op has the same name.
    The name means the output of the layer. For an argument with several ops, it means all ops and variables of the
    layer. For a consumer, it means the op that reads the input of the layer.

    Args:
        base: snapshot of the destination.
        steps: the steps, in order.
        backend: the functions of TensorFlow and of the picture that planning calls.
        notes: warnings of the recipe that made the plan.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.negative(tf.compat.v1.placeholder(tf.float32, name="x"), name="y")
        >>> ed = gs.open(graph)
        >>> plan = ed.plan().copy(ed.select(), to="copy")
        >>> plan.check(), plan.after().names
        ((), ['x', 'y', 'copy/x', 'copy/y'])
    """

    base: Graph
    steps: tuple[Step, ...] = ()
    backend: Backend = field(default_factory=Backend, repr=False)
    notes: tuple[str, ...] = ()

    def _with(self, step: Step) -> Plan:
        """Returns the plan with one more step. If the step names ops inside calls, these calls are inlined first.

        The steps apply to the snapshot that `Backend.with_runtime_shapes` returns.
        """
        base = self.backend.with_runtime_shapes(self.base)
        return replace(self, base=base, steps=with_inlined_calls(base, self.steps, step))

    def _arguments(self, request: str) -> Arguments:
        """Returns an object that checks the arguments of a call."""
        return Arguments(self.base, self.steps, self.backend, request)

    # -- new ops --------------------------------------------------------------------------------

    def copy(
        self,
        selection: OpsLike,
        to: str = "",
        *,
        inputs: TensorMap | FeedDict | None = None,
        unmapped: str = "refuse",
        control: str | None = None,
        variables: str | Mapping[str, TensorLike] = "copy",
        values: ValueSource | None = None,
        collections: str = "rename",
        device: str | Mapping[str, str] = "keep",
        seeds: str = "keep",
        reuse: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        trainable: bool = True,
    ) -> Plan:
        """Adds a copy of a selection, of this graph or another, under a name scope.

        Args:
            selection: the ops to copy: a selection of any graph; or ops, name scopes and layers of this graph, by name
                or object. Ops that their variables need are also copied.
            to: the scope. The name of a copy is ``to/`` plus the old name. Empty: the old names.
            inputs: tensor of the source -> tensor of the destination that replaces it; or an array or number, for a
                constant.
            unmapped: the treatment of entering tensors that `inputs` does not list. ``refuse``: the plan has a fault.
                ``placeholder``: the copy reads a new placeholder. ``keep``: the copy reads the original tensor (same
                graph only). ``include``: the ancestors of the tensor are copied too.
            control: the treatment of control inputs from outside: ``keep``, ``drop``, ``include`` or ``refuse``.
                Default: ``keep`` in the same graph, otherwise ``refuse``.
            variables: the policy. ``copy``: new variables, with the current values from `values` if it has them.
                ``initial``: new variables, with initial values. ``share``: the variables of the original (same graph
                only). ``freeze``: constants with the current values. Or a mapping: variable name or pattern -> a
                policy, or a tensor of the destination that replaces the variable; ``"*"`` means all other variables.
            values: the source of the current values: a session, an editor, or a mapping of variable name to array.
            collections: the names of the collections that list the copies. ``rename``: variable and training
                collections keep their names, and others get the scope. ``keep``: all keep their names. ``variables``:
                only the two lists of variables keep their names. ``none``: the copies are in no collection.
            device: ``keep`` or ``clear`` the devices of the ops; or one device for all, such as ``"/cpu:0"``; or a
                mapping of old to new parts of devices, such as ``{"/gpu:0": "/cpu:0", "/job:ps": "/job:worker"}``.
            seeds: ``keep`` the seeds of random ops, so that the copy draws the same numbers; or ``new``, for new seeds.
            reuse: source op -> its existing copy in the destination, from an earlier call. If this argument is given,
                even as an empty dict, the scope may be in use.
            names: source op -> full name of its copy, and source tensor -> name of its placeholder, for names other
                than ``to/`` plus the old name. If this argument is given, even as an empty dict, the scope may be in
                use.
            trainable: False keeps the new variables out of the collection of trainable variables.

        Raises:
            PlanError: if an argument is not one of its allowed values. `check` finds all other faults.
        """
        arguments = self._arguments(f"copy(to={to!r})")
        selection = arguments.selection(selection)
        for what, mapping in (("inputs", inputs), ("reuse", reuse), ("names", names)):
            arguments.check_mapping(what, {} if mapping is None else mapping)
        policies = arguments.policies(variables)
        arguments.check_choice("unmapped", unmapped, UNMAPPED)
        arguments.check_choice("collections", collections, COLLECTIONS)
        arguments.check_choice("seeds", seeds, SEEDS)
        devices = arguments.devices(device)
        if control is None:
            control = "keep" if selection.graph.folded.owner is self.base.owner else "refuse"
        arguments.check_choice("control", control, CONTROL)
        mapped, constants = arguments.mapped_pairs(selection.graph, inputs or {})
        step = CopyStep(
            selection, str(to).strip("/"), mapped, unmapped, control, tuple(policies.items()), values, collections,
            devices, seeds, reuse, constants, names, bool(trainable),
        )  # fmt: skip
        return self._with(step)

    def connect(self, tensor: TensorLike | Iterable[TensorLike], *, to: OpsLike, input: int = 0) -> Plan:
        """Makes input `input` of op `to` read `tensor`. Both are named as they are after the earlier steps.

        If the plan makes the op, its input is set when the op is made. If the op exists already, the plan builds a new
        graph; see `mode`. A list of tensors sets consecutive inputs of an op, starting with `input`. If `to` is also a
        list, each op gets one tensor as its input `input`.

        Args:
            tensor: the tensor to read, by name or object; or a list of tensors.
            to: the consumer; or a list of ops.
            input: the index of its input, from 0; for a list of tensors, the first index.

        Raises:
            PlanError: if two lists have different lengths.
        """
        if isinstance(tensor, (list, tuple)):
            ends = list(to) if isinstance(to, (list, tuple)) else [to] * len(tensor)
            if len(ends) != len(tensor):
                problem = f"{counted(len(tensor), 'tensors')} against {counted(len(ends), 'ops')}"
                suggestion = "Give one op for each tensor, or one op for all"
                raise PlanError(f"connect({counted(len(tensor), 'tensors')})", problem, suggestion)
            several, plan = isinstance(to, (list, tuple)), self
            for at, (one, end) in enumerate(zip(tensor, ends, strict=True)):
                plan = plan.connect(one, to=end, input=input if several else input + at)
            return plan
        arguments = self._arguments(f"connect({display_name(tensor_name, tensor)}, to={display_name(op_name, to)})")
        return self._with(ConnectStep(arguments.tensor(tensor), *arguments.consumer(to, arguments.number(input))))

    def with_policy(self, step: int, variable: str, policy: TensorLike) -> Plan:
        """Returns the plan with another policy for a variable of one of its copies.

        Args:
            step: the index of the step, from 0.
            variable: the op of the variable in the source, a pattern, or ``"*"`` for all other variables.
            policy: as in `copy`.

        Raises:
            PlanError: if that step is not a copy, or the policy is not valid.
        """
        arguments = self._arguments(f"with_policy({step}, {variable!r}, {policy!r})")
        old = self._copy_at(step, arguments.request)
        rules = {**dict(old.variables), variable: arguments.policy(variable, policy)}
        return self.with_step(step, replace(old, variables=tuple(rules.items())))

    def with_input(self, step: int, tensor: TensorLike, replacement: TensorLike | ArrayLike) -> Plan:
        """Returns the plan with another replacement for a tensor that enters one of its copies.

        Args:
            step: the index of the step, from 0.
            tensor: a tensor of the source that enters the copy.
            replacement: a tensor of the destination, by name or object; ``placeholder``; ``keep`` for the tensor itself
                (same graph only); or an array or number, for a constant.

        Raises:
            PlanError: if that step is not a copy, or the copy cannot make a placeholder for the tensor.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x, z = (tf.compat.v1.placeholder(tf.float32, name=name) for name in "xz")
            ...     y = tf.negative(x, name="y")
            >>> ed = gs.open(graph)
            >>> plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="placeholder")
            >>> plan.after().input_names(4), plan.with_input(0, "x:0", "z:0").after().input_names(3)
            (['t/x:0'], ['z:0'])
        """
        word = replacement if isinstance(replacement, str) else str(getattr(replacement, "name", "a constant"))
        arguments = self._arguments(f"with_input({step}, {tensor_name(tensor)!r}, {word!r})")
        old = self._copy_at(step, arguments.request)
        name = arguments.tensor_in(old.selection.graph, tensor)
        inputs, constants = dict(old.inputs), dict(old.constants)
        inputs.pop(name, None), constants.pop(name, None)
        if isinstance(replacement, str) and replacement == "placeholder" and old.unmapped == "keep":
            entering = [tensor for tensor in old.selection.boundary.inputs if tensor not in constants]
            inputs = {**{one: one for one in entering if one != name}, **inputs}
            old = replace(old, unmapped="placeholder")
        if isinstance(replacement, str) and replacement == "placeholder":
            if old.unmapped != "placeholder":
                problem = f"the copy was requested with unmapped={old.unmapped!r}"
                raise PlanError(arguments.request, problem, "Copy with unmapped='placeholder'")
        elif isinstance(replacement, str) and replacement == "keep":
            if old.unmapped != "keep":
                inputs[name] = name
        elif is_named(replacement):
            inputs[name] = arguments.tensor(replacement)
        else:
            constants[name] = replacement
        return self.with_step(step, replace(old, inputs=tuple(inputs.items()), constants=tuple(constants.items())))

    def with_scope(self, step: int, to: str) -> Plan:
        """Returns the plan with another scope for one of its copies. Later steps use the new names.

        Args:
            step: the index of the step, from 0.
            to: the scope, which must be free.

        Raises:
            PlanError: if that step is not a copy.
        """
        old, new = self._copy_at(step, f"with_scope({step}, {to!r})"), str(to).strip("/")
        before = replace(self, steps=self.steps[:step])
        new_names = () if old.to else before.with_step(step, old).effect.new_names
        rename = scope_change(old.to, new, before.after().index, new_names)
        step_after = replace(with_names(old, rename, (Role.NEW,)), to=new)
        return replace(self, steps=(*before.steps, step_after, *later_steps(self.steps[step + 1 :], old.to, rename)))

    def _copy_at(self, step: int, request: str) -> CopyStep:
        old = self.steps[step] if 0 <= step < len(self.steps) else None
        if not isinstance(old, CopyStep):
            copies = ", ".join(str(i) for i, s in enumerate(self.steps) if isinstance(s, CopyStep)) or "(none)"
            raise PlanError(request, f"step {step} is not a copy", f"The copies are steps {copies}")
        return old

    def with_step(self, number: int, step: Step | None, before: int | None = None) -> Plan:
        """Returns the plan with a step replaced, removed or moved.

        Args:
            number: the index of the step, from 0.
            step: the new step; None removes the step.
            before: the step is moved to the place before the step with this index; None keeps its place.
        """
        others = [*self.steps[:number], *self.steps[number + 1 :]]
        at = number if before is None else before - (before > number)
        return replace(self, steps=(*others[:at], *([] if step is None else [step]), *others[at:]))

    def with_fix(self, fix: Fix) -> Plan:
        """Returns the plan with a fix for one of its faults, for example an adapter for a tensor that does not fit.

        Args:
            fix: one of the `fixes` of a fault that `check` returns.

        Raises:
            PlanError: if the fix belongs to another plan.

        Example:
            >>> import tensorflow as tf, graphsurgeon as gs
            >>> with tf.Graph().as_default() as graph:
            ...     pixels = tf.compat.v1.placeholder(tf.uint8, [None, 28, 28], name="pixels")
            ...     x = tf.compat.v1.placeholder(tf.float32, [None, 784], name="x")
            ...     y = tf.nn.softmax(x, name="y")
            >>> plan = gs.open(graph).plan().connect("pixels", to="y")
            >>> (fault,) = plan.check()
            >>> print(fault.fixes[0].text)
            cast to float32, then reshape to (?, 784)
            >>> print(fault.fixes[0].code)
            plan.adapt('pixels:0', to='y', input=0, kinds='reshape')
            >>> plan.with_fix(fault.fixes[0]).check()
            ()
        """
        number = next((i for i, step in enumerate(self.steps) if step is fix.step), None)
        if number is None:
            problem, suggestion = "no step of this plan has the fault", "Choose a fix of a fault in plan.check()"
            raise PlanError(f"with_fix({fix.code!r})", problem, suggestion)
        return replace(self, steps=(*self.steps[:number], *fix.new_steps, *self.steps[number + 1 :]))

    def with_muted(self, step: int, on: bool = True) -> Plan:
        """Returns the plan with a step muted: it keeps its place, but has no effect. `to_code` makes it a comment.

        Args:
            step: the index of the step, from 0.
            on: False restores the step.

        Raises:
            PlanError: if there is no such step.

        Example:
            >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
            >>> plan = Plan(g).rename("y", to="z").with_muted(0)
            >>> plan, plan.after().names, plan.with_muted(0, on=False).after().names
            (<Plan for graph: muted: rename y to z>, ['x', 'y'], ['x', 'z'])
        """
        if not 0 <= step < len(self.steps):
            problem = f"the plan has {counted(len(self.steps), 'steps')}"
            raise PlanError(f"with_muted({step})", problem, "Steps are numbered from 0")
        one = unwrap_muted(self.steps[step])
        return self.with_step(step, MutedStep(one) if on else one)

    # -- edits of existing ops -------------------------------------------------------------------

    def reroute(
        self,
        old: TensorsLike | TensorMap,
        *,
        to: TensorLike | Iterable[TensorLike] | None = None,
        only: OpsLike | None = None,
        exclude: OpsLike = (),
    ) -> Plan:
        """Makes the consumers of a tensor read another tensor.

        Gradients that are already in the graph do not change; the plan has a warning about them.

        Args:
            old, to: two tensors, by name or object; or two lists of the same length; or only `old`, a dict of old ->
                new. Dtypes and shapes must be compatible. All tensors are rerouted at once, so you can swap tensors.
            only: the consumers to change, as a selection, names or objects. Default: all.
            exclude: the consumers to leave as they are.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]),
            ...                        ("z", "Neg", ["a"])])
            >>> after = gs.Plan(g).reroute("a:0", to="b:0", exclude="z").after()
            >>> after.input_names(2), after.input_names(3)
            (['b:0'], ['a:0'])
        """
        arguments = self._arguments(f"reroute({display_text(old)!r}, to={display_text(to)!r})")
        only_consumers = arguments.optional_ops(only)
        return self._with(RerouteStep(*arguments.tensor_pairs(old, to), only_consumers, arguments.ops(exclude)))

    def swap(self, a: TensorsLike | TensorMap, b: TensorLike | Iterable[TensorLike] | None = None) -> Plan:
        """Exchanges the consumers of two tensors, of two lists of tensors, or of the pairs of a dict.

        Args:
            a: a tensor, a list of tensors, or a dict tensor -> tensor.
            b: the other tensor, or a list of the same length. Omit this argument if `a` is a dict.
        """
        return self._with(
            SwapStep(*self._arguments(f"swap({display_text(a)!r}, {display_text(b)!r})").tensor_pairs(a, b))
        )

    def bypass(self, ops: OpsLike, *, input: int | str | None = None, output: int | str | None = None) -> Plan:
        """Connects the consumers of ops to the inputs of these ops. The ops remain.

        Args:
            ops: one or more ops, a selection, or a name scope. Each connected part is bypassed separately.
            input: the tensor to read instead. For one op: the index of its input, by default 0. For several ops: an
                entering tensor, by name or by its index among the entering tensors; by default the only compatible
                tensor.
            output: the tensor to replace. For one op: the index of its output, by default 0. For several ops: a leaving
                tensor, by name or index; by default all leaving tensors that are computed from the entering tensor.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("x", "Placeholder", []), ("s/a", "Neg", ["x"]), ("s/b", "Exp", ["s/a"]),
            ...               ("y", "Neg", ["s/b"])])
            >>> gs.Plan(g).bypass("s").after().input_names(3)
            ['x:0']
        """
        arguments = self._arguments(f"bypass({display_text(ops)!r})")
        first, last = (end if end is None or isinstance(end, int) else arguments.tensor(end) for end in (input, output))
        scope, names = arguments.scope_or_ops(ops)
        if not names:
            raise PlanError(arguments.request, "there are no ops in it", "Give at least one op")
        return self._with(BypassStep(names, first, last, scope))

    def detach(self, ops: OpsLike, *, side: str = "both", only: OpsLike | None = None, exclude: OpsLike = ()) -> Plan:
        """Disconnects ops from their inputs or from their consumers. Placeholders replace the tensors between them.

        Args:
            ops: names, objects, a selection or a scope.
            side: ``inputs``, ``outputs`` or ``both``.
            only: the ops that read the placeholders, as a selection, names or objects. Default: all.
            exclude: the ops that keep their inputs.

        Raises:
            PlanError: if `side` has another value.

        Example:
            >>> import graphsurgeon as gs
            >>> ops = [("x", "Placeholder", []), ("y", "Neg", ["x"]), ("a", "Exp", ["y"]), ("b", "Exp", ["y"])]
            >>> after = gs.Plan(gs.Graph.from_ops(ops)).detach("y", side="outputs", only="a").after()
            >>> after.input_names(2), after.input_names(3)
            (['y_0_detached:0'], ['y:0'])
        """
        arguments = self._arguments(f"detach({display_text(ops)!r})")
        arguments.check_choice("side", side, SIDES)
        return self._with(DetachStep(arguments.ops(ops), side, arguments.optional_ops(only), arguments.ops(exclude)))

    def insert(
        self,
        op: str | Callable[[Any], Any],
        *,
        on: TensorLike | Iterable[TensorLike],
        name: str | Iterable[str],
        only: OpsLike | None = None,
        exclude: OpsLike = (),
        **attributes: AttributeValue,
    ) -> Plan:
        """Inserts a new op with one input, or a subgraph, between a tensor and its consumers.

        Gradients that are already in the graph do not include the new ops; the plan has a warning about them.

        Args:
            op: an op type such as ``"Identity"`` or ``"Relu"``; or a Python function of one tensor that returns one
                tensor.
            on: the tensor that the op reads; or a list of tensors, for one op on each tensor.
            name: the name of the op, or the scope of the ops that a function makes. For several tensors, the first op
                has this name, and the others are called ``name_1``, ``name_2`` …; or pass a list of names.
            only, exclude: the consumers, as in `reroute`.
            attributes: the values of attributes of the op. Its dtype is the dtype of the tensor.

        Raises:
            PlanError: if a tensor is listed twice, the number of names differs from the number of tensors, or `op` is a
                function and `attributes` is given.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("y", "Add", ["a", "b"])])
            >>> gs.Plan(g).insert("Identity", on=["a", "b"], name="probe").after().input_names(2)
            ['probe:0', 'probe_1:0']
        """
        word = self._arguments("insert()").code_name(op, "function") if callable(op) else ""
        arguments = self._arguments(f"insert({word or repr(op)}, on={display_text(on)!r})")
        only_consumers, pairs = arguments.optional_ops(only), tuple(attributes.items())
        if callable(op) and pairs:
            problem = f"a function has no attribute {pairs[0][0]!r}"
            raise PlanError(arguments.request, problem, "Set its options inside: lambda x: f(x, ...)")
        tensors = tuple(map(arguments.tensor, on if isinstance(on, (list, tuple)) else [on]))
        if len(set(tensors)) < len(tensors) or not tensors:
            problem = "a tensor is named twice" if tensors else "it names no tensor"
            raise PlanError(arguments.request, problem, "Name each tensor once")
        names = name if isinstance(name, str) else tuple(map(str, name))
        if not isinstance(names, str) and len(names) != len(tensors):
            problem = f"{counted(len(names), 'names')} against {counted(len(tensors), 'tensors')}"
            raise PlanError(arguments.request, problem, "Give one name for each tensor, or one name for all")
        return self._with(InsertStep(op, tensors, names, pairs, only_consumers, arguments.ops(exclude), word))

    def adapt(
        self,
        tensor: TensorLike,
        *,
        to: OpLike | None = None,
        input: int | None = None,
        kinds: str | Iterable[str] = (),
        name: str = "",
        dtype: DTypeLike | None = None,
        shape: ShapeLike | None = None,
        only: OpsLike | None = None,
        exclude: OpsLike = (),
        **options: AttributeValue,
    ) -> Plan:
        """Converts a tensor to the dtype and shape that a consumer needs, and connects the result to the consumer.

        The result is called ``name:0``. It gets the dtype and shape that the consumer reads now, if they are known. A
        dense layer has its own variables with initial values. They are trained and saved like other variables.

        Args:
            tensor: the tensor.
            to: the consumer, as for `connect`; or a tensor or placeholder, whose consumers then read the result, as for
                `reroute`. None: the result has no consumer yet, and a later step may use it.
            input: the index of the input of the op. Default: 0.
            kinds: ``cast``, ``reshape``, ``transpose``, ``pad``, ``resize``, ``pool`` or ``dense``; or several in
                order, such as ``["pool", "dense"]``. Default: the best one. A cast is added if it is needed.
            name: the name of the result, and the scope of the other new ops. Default: a free name.
            dtype, shape: the dtype and shape of the result. Default: those that the consumer reads now. None: unknown.
            only, exclude: the consumers of a tensor, as in `reroute`.
            options: ``method`` of ``resize`` (``bilinear``, ``nearest`` …), ``mode`` of ``pool`` (``avg``, ``max``),
                ``perm`` of ``transpose``, ``paddings`` and ``value`` of ``pad``, ``bias`` and ``seed`` of ``dense``;
                ``data_format`` (``NHWC``, ``NCHW``) of all ops with channels.

        Raises:
            PlanError: if a kind or option does not exist, or if `only`, `exclude` or `input` do not apply to `to`.
                `check` finds all other faults.

        Example:
            >>> import tensorflow as tf, graphsurgeon as gs
            >>> with tf.Graph().as_default() as graph:
            ...     features = tf.compat.v1.placeholder(tf.float32, [None, 7, 7, 8], name="features")
            ...     pooled = tf.compat.v1.placeholder(tf.float32, [None, 4], name="pooled")
            ...     head = tf.nn.softmax(pooled, name="head")
            >>> plan = gs.open(graph).plan().adapt("features", to="head", kinds=["pool", "dense"], name="fit")
            >>> plan.check(), plan.after().input_names(2)
            ((), ['fit:0'])
        """
        arguments = self._arguments(f"adapt({display_name(tensor_name, tensor)})")
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        pairs = tuple((key, as_tuples(value)) for key, value in options.items())
        problem = option_fault(kinds, pairs)
        if problem is not None:
            raise PlanError(arguments.request, *problem)
        at = None if input is None else arguments.number(input)
        end, at = (None, at) if to is None else arguments.consumer_or_tensor(to, at)
        only_consumers, excluded = arguments.optional_ops(only), arguments.ops(exclude)
        if at is not None and (end is None or ":" in end):
            raise PlanError(arguments.request, f"input={at} needs an op", "Give the op: to='op'")
        if (only_consumers is not None or excluded) and (end is None or at is not None):
            limits_problem = "only= and exclude= need a tensor, not an input"
            raise PlanError(arguments.request, limits_problem, "Give a tensor: to='x:0'")
        wish = AdapterSpec(kinds, None if dtype is None else arguments.dtype(dtype), arguments.shape(shape), pairs)
        return self._with(
            AdaptStep(arguments.tensor(tensor), end, at, str(name).strip("/"), wish, only_consumers, excluded)
        )

    def remove(self, ops: OpsLike, *, stitch: bool = False) -> Plan:
        """Removes ops from the graph.

        Args:
            ops: the ops: a selection, names or objects. No remaining op may read a removed op. A layer is removed with
                its variables and with the ops that only these variables need. A variable that other ops read remains.
            stitch: connect the consumers of output 0 of a removed op to its first input. If several ops are removed and
                this tensor does not fit, another tensor that enters the ops and leads to the output is used, if only
                one is compatible.
        """
        return self._with(
            RemoveStep(self._arguments(f"remove({display_text(ops)!r})").ops_to_remove(ops), bool(stitch))
        )

    def set_attr(self, ops: OpsLike, name: str, value: AttributeValue | None) -> Plan:
        """Sets an attribute of ops; None clears an attribute whose name starts with ``_``.

        Args:
            ops: names, objects, a selection or a scope.
            name: the name of the attribute, such as ``strides``.
            value: its new value in Python: a number, text, dtype, shape or list; None clears it.
        """
        arguments = self._arguments(f"set_attr({display_text(ops)!r}, {name!r})")
        return self._with(SetStep(arguments.ops(ops), ((name, value),)))

    def set_device(self, ops: OpsLike, device: str) -> Plan:
        """Sets the device of ops. With an empty text TensorFlow chooses the device.

        Args:
            ops: names, objects, a selection or a scope.
            device: the device, such as ``/gpu:0``, or an empty text.
        """
        arguments = self._arguments(f"set_device({display_text(ops)!r}, {device!r})")
        return self._with(SetStep(arguments.ops(ops), (), str(device)))

    def add_control(self, op: OpLike, after: OpsLike) -> Plan:
        """Makes an op run after other ops.

        Args:
            op: the op that waits.
            after: the op or ops that run before it.
        """
        arguments = self._arguments(f"add_control({display_text(op)!r})")
        return self._with(ControlStep(arguments.single_op(op), arguments.ops(after), False))

    def remove_control(self, op: OpLike, after: OpsLike | None = None) -> Plan:
        """Removes control inputs of an op.

        Args:
            op: the op that waits.
            after: the op or ops to remove from its control inputs. Default: all.
        """
        arguments = self._arguments(f"remove_control({display_text(op)!r})")
        others = arguments.optional_ops(after)
        return self._with(ControlStep(arguments.single_op(op), others, True))

    def reroute_control(self, old: OpLike, *, to: OpsLike, only: OpsLike | None = None, exclude: OpsLike = ()) -> Plan:
        """Makes the ops that wait for one op wait for other ops instead.

        Args:
            old: the op for which the ops wait now, by name or object.
            to: one op or several.
            only, exclude: the waiting ops, as in `reroute`.
        """
        arguments = self._arguments(f"reroute_control({display_text(old)!r}, to={display_text(to)!r})")
        ends = arguments.single_op(old), arguments.ops(to)
        return self._with(RerouteControlStep(*ends, arguments.optional_ops(only), arguments.ops(exclude)))

    def rename(
        self,
        old: OpLike | Mapping[str, str] | Mapping[Named, str],
        to: str | None = None,
        *,
        values: ValueSource | None = None,
    ) -> Plan:
        """Renames ops, or name scopes with all ops in them.

        Only names change. Consumers, colocation and collections use the new names, and so do later steps. Variables
        keep their values, also after an undo.

        Args:
            old: an op or name scope; or a dict of old -> new. All names change at once, so you can swap names. If an op
                and its scope are both renamed, the new name of the op applies to the op.
            to: the new name, which must be free.
            values: new values for the variables: ``"initial"`` resets the variables to their initial values; other
                sources of values are as in `copy`. An undo restores the old values.

        Raises:
            PlanError: if no new name, or more than one new name, is given.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("a/x", "Const", []), ("b/x", "Neg", ["a/x"])])
            >>> gs.Plan(g).rename({"a": "b", "b": "a"}).after().names
            ['b/x', 'a/x']
        """
        arguments = self._arguments(f"rename({display_text(old)!r})")
        if isinstance(old, Mapping) == (to is not None):
            problem = "a dict contains both names" if to is not None else "no new name is given"
            raise PlanError(arguments.request, problem, "Type rename('old', to='new'), or rename({'old': 'new', ...})")
        pairs = old.items() if isinstance(old, Mapping) else [(old, to)]
        olds = ((arguments.op_or_scope(one), new) for one, new in pairs)
        names = tuple((old if old in self.base.index else old.strip("/"), str(new).strip("/")) for old, new in olds)
        if not names or len({name for name, _ in names}) < len(names):
            problem = "an op or scope is named twice" if names else "the dict is empty"
            raise PlanError(arguments.request, problem, "Name each op or scope once")
        return self._with(RenameStep(names, values))

    # -- new ops in place of existing ones ------------------------------------------------------

    def on_copies(
        self, scope: str, *, until: OpsLike | None = None, assign: str = "leave", collections: str = "none"
    ) -> Plan:
        """Makes the earlier edits of the plan on copies of the affected ops. No existing op changes.

        All ops downstream of the edits are copied under a scope, with the new inputs. Variables and unaffected ops are
        shared. Open sessions can use the copies at once; the originals compute the same as before. If `done` is the
        result of `Editor.apply`, ``done["loss:0"]`` is the loss after the edits.

        Args:
            scope: the scope of the copies.
            until: ops or tensors to stop at. Default: everything downstream. TF1 loops and conds are copied as a whole.
            assign: the treatment of ops that set variables, tables or queues: ``leave`` them and the ops that only feed
                them as they are, or ``copy`` them, so that the copies set the same state.
            collections: ``none``, or the names under which copies are added to collections, as in `copy`.

        Raises:
            PlanError: if `assign` or `collections` is not known. `check` finds all other faults.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]),
            ...                        ("z", "Exp", ["y"])])
            >>> plan = gs.Plan(g).reroute("a:0", to="b:0").on_copies(scope="new")
            >>> after = plan.after()
            >>> plan.mode, after.names[4:], after.input_names(2), after.input_names(4)
            ('append', ['new/y', 'new/z'], ['a:0'], ['b:0'])
        """
        arguments = self._arguments(f"on_copies(scope={scope!r})")
        arguments.check_choice("assign", assign, ASSIGN)
        arguments.check_choice("collections", collections, INITIAL_COLLECTIONS)
        return self._with(OnCopiesStep(str(scope).strip("/"), arguments.ends(until), assign, collections))

    def replace(
        self,
        pattern: PatternLike | Match | Matches | Iterable[Match],
        replacement: str | Callable[..., object],
        *,
        inputs: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        within: OpsLike | None = None,
        external: str = "refuse",
        to: str = "",
    ) -> Plan:
        """Replaces each match of a pattern by another subgraph.

        Consumers of a match read the replacement. Ops of the match without other consumers are removed; with
        `on_copies` they stay. A match stays as it is, with a warning, if it overlaps a match that is replaced, or if
        its replacement would depend on itself. Control edges move to the replacement. If `done` is the result of
        `Editor.apply`, ``done.matches`` has the replacement of each match.

        Args:
            pattern: a pattern, as for `Editor.match`: a Python function of tensors, a selection (everything with the
                same structure is replaced), a small graph or a `Pattern`; or matches of a pattern: all, a list, or one.
                Calls that contain a selection or match are inlined first.
            replacement: a Python function, or an op type such as ``"Softplus"`` with the inputs of the pattern. The
                arguments of the function are inputs of the pattern, by name or in order. An argument called ``match``
                gets the `Match`, with the attributes and constants of its ops. The function returns the replacement of
                the outputs: one tensor, a list in order, or a dict by name. It may return an argument. Variables that
                the function makes belong to the graph and have initial values.
            inputs, where, attributes, constants: as for ``ed.match``.
            within: replace only matches among these ops: a selection, names or objects.
            external: the treatment of a match whose inner tensors have other consumers: ``refuse`` leaves it as it is,
                with a warning; ``keep`` keeps its inner ops for them.
            to: the scope of the new ops. Default: the name of the first output. A number is added if the name is taken.

        Raises:
            PlanError: if `external` is not known, `replacement` is neither a function nor a text, or the matches or
                `within` belong to another graph.
            SelectionError: if `pattern` is not a pattern. `check` finds all other faults.
        """
        arguments = self._arguments("replace()")
        if isinstance(pattern, str | Layer) and arguments.layer(pattern) is not None:
            pattern = arguments.selection(pattern)
        words = (
            arguments.code_name(pattern, "pattern"),
            replacement if isinstance(replacement, str) else arguments.code_name(replacement, "replacement"),
        )
        arguments = self._arguments(
            f"replace({words[0]}, {repr(replacement) if isinstance(replacement, str) else words[1]})"
        )
        arguments.check_choice("external", external, EXTERNAL)
        subgraph: object = replacement
        if not (isinstance(subgraph, str) or callable(subgraph)):
            problem = f"{type(subgraph).__name__} is not a function"
            raise PlanError(arguments.request, problem, "Give a function of the pattern's inputs, or an op type")
        about = {"inputs": inputs, "where": where, "attributes": attributes, "constants": constants}
        default: dict[str, Any] = {"inputs": None, "where": None, "attributes": (), "constants": "any"}
        options = tuple((key, value) for key, value in about.items() if value != default[key])
        target: Pattern | tuple[Match, ...]
        if isinstance(pattern, Match):
            target = (pattern,)
        elif isinstance(pattern, Matches) or (
            isinstance(pattern, (list, tuple)) and all(isinstance(m, Match) for m in pattern)
        ):
            target = tuple(pattern)
        else:
            target = self.backend.pattern(pattern, arguments.request, **about)
        for one in () if isinstance(target, Pattern) else target:
            arguments.refuse_other_graph(one.graph, "the matches are", "Look for them in")
        if within is not None:
            within = arguments.selection(within) if not isinstance(within, Selection) else within
            arguments.refuse_other_graph(within.graph, "within= is", "Select from")
        return self._with(
            ReplaceStep(target, replacement, external, str(to).strip("/"), within, pattern, words, options)
        )

    def collapse(self, selection: OpsLike, *, name: str) -> Plan:
        """Replaces ops by one call of a function.

        The call is a ``PartitionedCall``, or a ``StatefulPartitionedCall`` if the ops use state. Variables,
        placeholders and tables stay outside and are inputs of the call; the input for a variable is its handle. All ops
        of a TensorArray or a stack must be inside. The call has a gradient. Results may differ in the last bit if
        TensorFlow fuses ops. Marked outputs of a selection are outputs of the call, even if only ops inside read them.

        Args:
            selection: a selection, a name scope, or names.
            name: the name of the call, which must be free.
        """
        scope, ops = self._arguments(f"collapse(name={name!r})").scope_or_ops(selection)
        return self._with(CollapseStep(ops, str(name).strip("/"), scope))

    def inline(self, calls: OpsLike) -> Plan:
        """Replaces function calls by their bodies, under the names of the calls. Calls inside them are replaced too.

        A v2 ``If``, ``Case`` or ``While`` becomes a TF1 cond or loop. Its branches (``cond/then_branch/x``), or its
        condition and body (``while/body/x``), become ops, and so do conds and loops inside it. The result runs in every
        session and has its gradient. Conds and loops inside an inlined call stay single ops until you name them too. A
        step that names an op inside a call, such as ``call/inner:0``, inlines the call first.

        Args:
            calls: ``PartitionedCall``, ``If``, ``Case`` or ``While`` ops, by name or object.
        """
        return self._with(InlineStep(self._arguments("inline()").ops(calls)))

    def unroll(self, loop: OpLike, times: int) -> Plan:
        """Replaces a loop by a fixed number of copies of its body, one after another.

        The condition is no longer evaluated. The plan has a warning, unless the number of iterations is known to be
        correct. The copies are called ``loop/body``, ``loop/body_1`` …. They share variables and everything else that
        does not change between iterations.

        Args:
            loop: a v2 ``While`` op; or a TF1 ``while_loop``, by its scope or one of its ops.
            times: the number of iterations.

        Raises:
            PlanError: if `times` is not a number of iterations. `check` finds all other faults.
        """
        arguments = self._arguments(f"unroll({display_name(op_name, loop)}, {times!r})")
        count = arguments.number(times, "times", "the number of iterations", "it as times=3")
        if count < 0:
            raise PlanError(
                arguments.request, f"times={count} is less than 0", "Type the number of iterations as times=3"
            )
        return self._with(UnrollStep(arguments.op_or_scope(loop).partition(":")[0].rstrip("/"), count))

    def resolve_condition(self, predicate: TensorLike, value: bool | int) -> Plan:
        """Fixes the value of a condition, and removes the branches that are then never taken.

        The branch that is taken stays, under its names. This applies to TF1 conds (``Switch``, ``Merge``) and v2 ``If``
        ops that use this predicate, an identity of it or its negation, even if they are nested. It also applies to a v2
        ``Case`` with this branch index. Consumers of the results of the condition read the results of the branch. The
        predicate and its other consumers stay.

        Args:
            predicate: the predicate, by name or object: a scalar bool, or a branch index.
            value: its fixed value.

        Raises:
            PlanError: if the value is neither a bool nor a number.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.from_ops([("x", "Placeholder", []), ("p", "Placeholder", []), ("s", "Switch", ["x", "p"]),
            ...               ("a", "Neg", ["s:0"]), ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"]),
            ...               ("y", "Abs", ["m"])])
            >>> after = gs.Plan(g).resolve_condition("p:0", True).after()
            >>> after.names, after.input_names(2), after.input_names(3)
            (['x', 'p', 'b', 'y'], ['x:0'], ['b:0'])
        """
        arguments = self._arguments(f"resolve_condition({display_name(tensor_name, predicate)}, {value!r})")
        plain = value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
        if not isinstance(plain, int):
            problem = f"{value!r} is neither a bool nor a number"
            raise PlanError(arguments.request, problem, "Type True or False, or the number of a branch")
        return self._with(ConditionStep(arguments.tensor(predicate), plain))

    # -- the effect -----------------------------------------------------------------------------

    @cached_property
    def effect(self) -> PlanResult:
        """The complete effect of the plan, computed once."""
        with self._naming_memory():
            result = resolve(self.base, self.steps, self.backend)
        return replace(result, warnings=(*result.warnings, *self.notes)) if self.notes else result

    @property
    def mode(self) -> str:
        """``append`` (no existing op changes) or ``materialize`` (a new graph is built)."""
        return self.effect.mode

    def check(self) -> tuple[Fault, ...]:
        """Returns all faults; empty if the plan can be applied."""
        effect = self.effect
        with self._naming_memory():
            return self.backend.check(effect)

    def _naming_memory(self) -> AbstractContextManager[None]:
        return naming_memory(f"plan: {steps_text(self.steps)}", self.backend.is_out_of_memory)

    def after(self) -> Graph:
        """Returns a snapshot of the destination graph after the plan."""
        return self.effect.after

    def preview(self) -> Preview:
        """Returns the changes of the plan, as text, table and marks. No graph changes."""
        return Preview(self.effect, self.backend)

    def to_code(self) -> str:
        """Returns Python code that makes and applies the same plan."""
        return plan_code(self.effect, self.backend)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return one_line(self.base.title, self.steps)

    def __str__(self) -> str:
        return str(self.preview())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.preview()._repr_mimebundle_(**options)


def without_muted(plan: Plan) -> Plan:
    """Returns a plan without its muted steps. `Editor.apply` applies this plan.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> len(without_muted(Plan(g).rename("y", to="z").with_muted(0)))
        0
    """
    active = tuple(step for step in plan.steps if not isinstance(step, MutedStep))
    return plan if len(active) == len(plan.steps) else replace(plan, steps=active)
