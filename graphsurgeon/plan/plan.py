"""Plan: what is to be done to a graph, as an immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..errors import PlanError, naming_memory
from ..graph.graph import Graph
from ..graph.match.match import Match, Matches
from ..graph.match.pattern import Pattern
from ..graph.names import op_name, tensor_name
from ..graph.selection import Selection
from ..words import counted
from . import steps
from .adapters import Wish, option_fault, tuples_of
from .arguments import Arguments, is_named, shown, shown_by
from .backend import Backend
from .code import plan_code
from .effect import Effect
from .fault import Cure, Fault
from .inlined_calls import opened
from .preview import Preview
from .resolve import resolve
from .step_names import later_steps, scope_change, with_names
from .step_text import one_line, steps_text
from .steps import CopyStep, Role, Step

UNMAPPED = ("include", "keep", "placeholder", "refuse")
CONTROL = ("drop", "include", "keep", "refuse")
SEEDS = ("keep", "new")
COLLECTIONS = ("keep", "none", "rename", "variables")
KEPT = ("keep", "none", "rename")
SIDES = ("both", "inputs", "outputs")
ASSIGN = ("copy", "leave")
EXTERNAL = ("keep", "refuse")


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps over a destination graph. Each method returns a new plan; nothing changes before `apply`.

    An edit of an op that is there already builds the graph anew: `mode` says so. With `on_copies`, the edits before it
    are carried out on copies instead, and the graph stays as it is.

    Args:
        base: snapshot of the destination.
        steps: what to do, in order.
        backend: what planning needs of TensorFlow, and of the picture.
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
        """Returns the plan with one step more, and with the calls inlined in which it names something.

        It is on the graph as what runs it has it.
        """
        base = self.backend.settled(self.base)
        return replace(self, base=base, steps=opened(base, self.steps, step))

    def _given(self, asked: str) -> Arguments:
        """Returns what reads the arguments of a call."""
        return Arguments(self.base, self.steps, self.backend, asked)

    # -- what is made anew ----------------------------------------------------------------------

    def copy(
        self,
        selection: Selection,
        to: str = "",
        *,
        inputs: Mapping[Any, Any] | None = None,
        unmapped: str = "refuse",
        control: str | None = None,
        variables: str | Mapping[str, Any] = "copy",
        values: Any = None,
        collections: str = "rename",
        device: str | Mapping[str, str] = "keep",
        seeds: str = "keep",
        reuse: Mapping[str, str] | None = None,
        constants: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        trainable: bool = True,
    ) -> Plan:
        """Adds a copy of a selection, of this graph or another, under a name scope.

        Args:
            selection: the ops to copy; what their variables need is also copied.
            to: the scope: every op is called ``to/`` plus its old name. Empty: the old names.
            inputs: tensor of the source -> tensor of the destination that takes its place.
            unmapped: what to do with entering tensors that `inputs` does not name: ``refuse`` the plan,
                make a ``placeholder``, ``keep`` the original tensor (same graph only), ``include`` what computes it.
            control: the same for control inputs from outside: ``keep``, ``drop``, ``include``, ``refuse``. Default:
                keep in the same graph, else refuse.
            variables: ``copy`` (independent, with current values where `values` has them), ``initial``
                (independent, with initial values), ``share`` (same graph only), ``freeze`` (its current value becomes
                a constant); or a mapping of variable name or pattern to one of these, or to a tensor of the
                destination that replaces the variable, with ``"*"`` for all others.
            values: where current values come from: a session, an editor, or a mapping of variable name to array.
            collections: ``rename`` (variable and training collections keep their names, others get the scope),
                ``keep`` all names, ``variables`` (only the two lists of variables keep their names), or ``none``.
            device: ``keep`` or ``clear`` the devices the ops ask for; or a device for all of them, as ``"/cpu:0"``; or
                a mapping of old to new ones: ``{"/gpu:0": "/cpu:0", "/job:ps": "/job:worker"}`` changes these parts.
            seeds: ``keep`` the seeds of random ops (the copy draws the same numbers), or give them ``new`` ones.
            reuse: source op -> op of the destination that is its copy already, from an earlier call; given (even
                empty), the scope may be in use.
            constants: source tensor -> array: a constant of that value takes its place.
            names: source op -> the full name of its copy, and source tensor -> that of its placeholder, where it is
                not ``to/`` and the old name; given (even empty), the scope may be in use.
            trainable: false keeps the new variables out of the list of those that an optimizer trains by itself.

        Raises:
            PlanError: an argument is not one of its allowed values. All else is found by `check`.
        """
        given = self._given(f"copy(to={to!r})")
        selection = given.selection(selection)
        for what, mapping in (("inputs", inputs), ("reuse", reuse), ("constants", constants), ("names", names)):
            given.mapping(what, {} if mapping is None else mapping)
        policies = given.policies(variables)
        given.one_of("unmapped", unmapped, UNMAPPED)
        given.one_of("collections", collections, COLLECTIONS)
        given.one_of("seeds", seeds, SEEDS)
        devices = given.devices(device)
        if control is None:
            control = "keep" if selection.graph.folded.owner is self.base.owner else "refuse"
        given.one_of("control", control, CONTROL)
        step = steps.CopyStep(
            selection, str(to).strip("/"), given.mapped(selection.graph, inputs or {}), unmapped, control,
            tuple(policies.items()), values, collections, devices, seeds, reuse, tuple((constants or {}).items()),
            names, bool(trainable),
        )  # fmt: skip
        return self._with(step)

    def connect(self, tensor: Any, *, to: Any, input: int = 0) -> Plan:
        """Makes input `input` of op `to` read `tensor`; both by their names in the destination after the steps so far.

        An input of an op that the plan itself copies is set before the copy is made. An input of an op that is
        there already needs the graph to be materialised anew: `mode` says so. A list of tensors sets the inputs from
        `input` on, one by one; with a list of ops too, input `input` of each.

        Args:
            tensor: the tensor to read, by name or object; or a list of them.
            to: the op that should read it.
            input: the number of its input, from 0; the first one where `tensor` is a list.

        Raises:
            PlanError: two lists are not of one length.
        """
        if isinstance(tensor, (list, tuple)):
            ends = list(to) if isinstance(to, (list, tuple)) else [to] * len(tensor)
            if len(ends) != len(tensor):
                wrong = f"{counted(len(tensor), 'tensors')} against {counted(len(ends), 'ops')}"
                raise PlanError(f"connect({counted(len(tensor), 'tensors')})", wrong, "Give as many, or one op for all")
            several, plan = isinstance(to, (list, tuple)), self
            for at, (one, end) in enumerate(zip(tensor, ends, strict=True)):
                plan = plan.connect(one, to=end, input=input if several else input + at)
            return plan
        given = self._given(f"connect({shown_by(tensor_name, tensor)}, to={shown_by(op_name, to)})")
        return self._with(steps.ConnectStep(given.tensor(tensor), given.op(to), given.number(input)))

    def with_policy(self, step: int, variable: str, policy: Any) -> Plan:
        """Returns the plan with another policy for a variable of one of its copies.

        Args:
            step: which step, from 0.
            variable: the variable's op in the source, a pattern, or ``"*"`` for all that no other rule fits.
            policy: as in `copy`.

        Raises:
            PlanError: that step is not a copy, or the policy is none.
        """
        given = self._given(f"with_policy({step}, {variable!r}, {policy!r})")
        old = self._copy_at(step, given.asked)
        rules = {**dict(old.variables), variable: given.policy(variable, policy)}
        return self.with_step(step, replace(old, variables=tuple(rules.items())))

    def with_input(self, step: int, tensor: Any, by: Any) -> Plan:
        """Returns the plan with something else in the place of a tensor that enters one of its copies.

        Args:
            step: which step, from 0.
            tensor: a tensor of the source that enters the copy.
            by: a tensor of the destination, by name or object; ``placeholder``; ``keep``, for the tensor itself (same
                graph only); or an array or number, for a constant.

        Raises:
            PlanError: that step is not a copy; or a placeholder is asked for, and the copy makes none of its inputs.

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
        word = by if isinstance(by, str) else str(getattr(by, "name", "a constant"))
        given = self._given(f"with_input({step}, {tensor_name(tensor)!r}, {word!r})")
        old, name = self._copy_at(step, given.asked), tensor_name(tensor)
        inputs, constants = dict(old.inputs), dict(old.constants)
        inputs.pop(name, None), constants.pop(name, None)
        if isinstance(by, str) and by == "placeholder" and old.unmapped == "keep":
            entering = [tensor for tensor in old.selection.boundary.inputs if tensor not in constants]
            inputs = {**{one: one for one in entering if one != name}, **inputs}
            old = replace(old, unmapped="placeholder")
        if isinstance(by, str) and by == "placeholder":
            if old.unmapped != "placeholder":
                wrong = f"the copy was asked for with unmapped={old.unmapped!r}"
                raise PlanError(given.asked, wrong, "Copy with unmapped='placeholder'")
        elif isinstance(by, str) and by == "keep":
            if old.unmapped != "keep":
                inputs[name] = name
        elif is_named(by):
            inputs[name] = given.tensor(by)
        else:
            constants[name] = by
        return self.with_step(step, replace(old, inputs=tuple(inputs.items()), constants=tuple(constants.items())))

    def with_scope(self, step: int, to: str) -> Plan:
        """Returns the plan with another scope for one of its copies; later steps go on with the new names.

        Args:
            step: which step, from 0.
            to: the scope; it must be free.

        Raises:
            PlanError: that step is not a copy.
        """
        old, new = self._copy_at(step, f"with_scope({step}, {to!r})"), str(to).strip("/")
        before = replace(self, steps=self.steps[:step])
        made = () if old.to else before.with_step(step, old).effect.new_names
        changed = scope_change(old.to, new, before.after().index, made)
        moved = replace(with_names(old, changed, (Role.MADE,)), to=new)
        return replace(self, steps=(*before.steps, moved, *later_steps(self.steps[step + 1 :], old.to, changed)))

    def _copy_at(self, step: int, asked: str) -> CopyStep:
        old = self.steps[step] if 0 <= step < len(self.steps) else None
        if not isinstance(old, steps.CopyStep):
            copies = ", ".join(str(i) for i, s in enumerate(self.steps) if isinstance(s, steps.CopyStep)) or "(none)"
            raise PlanError(asked, f"step {step} is not a copy", f"The copies are steps {copies}")
        return old

    def with_step(self, number: int, step: Step | None, before: int | None = None) -> Plan:
        """Returns the plan with another step in the place of one, or without it, or with it elsewhere.

        Args:
            number: which step, from 0.
            step: what takes its place; None: nothing.
            before: the step that it is to stand before, as they are numbered now; None: where it stood.
        """
        kept = [*self.steps[:number], *self.steps[number + 1 :]]
        at = number if before is None else before - (before > number)
        return replace(self, steps=(*kept[:at], *([] if step is None else [step]), *kept[at:]))

    def cured(self, cure: Cure) -> Plan:
        """Returns the plan with what makes one of its faults go: an adapter where a tensor does not fit.

        Args:
            cure: one of the `cures` of a fault that `check` finds.

        Raises:
            PlanError: it is a cure of another plan.

        Example:
            >>> import tensorflow as tf, graphsurgeon as gs
            >>> with tf.Graph().as_default() as graph:
            ...     pixels = tf.compat.v1.placeholder(tf.uint8, [None, 28, 28], name="pixels")
            ...     x = tf.compat.v1.placeholder(tf.float32, [None, 784], name="x")
            ...     y = tf.nn.softmax(x, name="y")
            >>> plan = gs.open(graph).plan().connect("pixels", to="y")
            >>> (fault,) = plan.check()
            >>> print(fault.cures[0].text)
            cast to float32, then reshape to (?, 784)
            >>> print(fault.cures[0].code)
            plan.adapt('pixels:0', to='y', input=0, by='reshape')
            >>> plan.cured(fault.cures[0]).check()
            ()
        """
        number = next((i for i, step in enumerate(self.steps) if step is cure.step), None)
        if number is None:
            raise PlanError(f"cured({cure.code!r})", "no step of this plan has that fault", "Take one of plan.check()")
        return replace(self, steps=(*self.steps[:number], *cure.steps, *self.steps[number + 1 :]))

    def with_muted(self, step: int, on: bool = True) -> Plan:
        """Returns the plan with a step muted: it stays in its place and does nothing; code shows it as a comment.

        Args:
            step: which step, from 0.
            on: false: the step does again what it says.

        Raises:
            PlanError: there is no such step.

        Example:
            >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"])])
            >>> plan = Plan(g).rename("y", to="z").with_muted(0)
            >>> plan, plan.after().names, plan.with_muted(0, on=False).after().names
            (<Plan for graph: muted: rename y to z>, ['x', 'y'], ['x', 'z'])
        """
        if not 0 <= step < len(self.steps):
            wrong = f"the plan has {counted(len(self.steps), 'steps')}"
            raise PlanError(f"with_muted({step})", wrong, "They are numbered from 0")
        one = steps.bare(self.steps[step])
        return self.with_step(step, steps.MutedStep(one) if on else one)

    def awake(self) -> Plan:
        """Returns the plan without its muted steps: `apply` carries out these.

        Example:
            >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"])])
            >>> len(Plan(g).rename("y", to="z").with_muted(0).awake())
            0
        """
        kept = tuple(step for step in self.steps if not isinstance(step, steps.MutedStep))
        return self if len(kept) == len(self.steps) else replace(self, steps=kept)

    # -- what is there is changed ----------------------------------------------------------------

    def reroute(self, old: Any, *, to: Any = None, only: Any = None, exclude: Any = ()) -> Plan:
        """Lets the consumers of a tensor read another.

        Gradients that are in the graph already stay those of what was computed before, and the plan warns of them.

        Args:
            old, to: tensors, by name or object, or as many in two lists; or `old` a dict of old -> new, and no `to`.
                Dtypes and shapes must fit. Several are rerouted at once: they may change places.
            only: ops that are meant, as a selection, names or objects; None: all.
            exclude: ops that are not.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Neg", ["a"])])
            >>> after = gs.Plan(g).reroute("a:0", to="b:0", exclude="z").after()
            >>> after.input_names(2), after.input_names(3)
            (['b:0'], ['a:0'])
        """
        given = self._given(f"reroute({shown(old)!r}, to={shown(to)!r})")
        limits = given.some_ops(only)
        return self._with(steps.RerouteStep(*given.two(old, to), limits, given.ops(exclude)))

    def swap(self, a: Any, b: Any = None) -> Plan:
        """Lets the consumers of two tensors change places; of as many in two lists, or of the pairs of a dict.

        Args:
            a: a tensor, a list of tensors, or a dict tensor -> tensor.
            b: the other tensor, or a list of as many; none where `a` is a dict.
        """
        return self._with(steps.SwapStep(*self._given(f"swap({shown(a)!r}, {shown(b)!r})").two(a, b)))

    def bypass(self, ops: Any, *, input: int | str | None = None, output: int | str | None = None) -> Plan:
        """Lets what reads ops read what these read themselves; the ops stay.

        Args:
            ops: an op, several, a selection, or a name scope. Each connected part of them is bypassed by itself.
            input: what is read instead. Of one op the number of its input, by default 0; of several the tensor that
                enters, by name or by number among those that enter; by default the only one that fits.
            output: what is read no more. Of one op the number of its output, by default 0; of several the tensor that
                leaves, by name or number; by default all that come from what enters and are read outside.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("x", "Placeholder", []), ("s/a", "Neg", ["x"]), ("s/b", "Exp", ["s/a"]),
            ...               ("y", "Neg", ["s/b"])])
            >>> gs.Plan(g).bypass("s").after().input_names(3)
            ['x:0']
        """
        given = self._given(f"bypass({shown(ops)!r})")
        first, last = (end if end is None or isinstance(end, int) else given.tensor(end) for end in (input, output))
        chosen, names = given.scope_or_ops(ops)
        if not names:
            raise PlanError(given.asked, "it has no ops", "Give at least one op")
        return self._with(steps.BypassStep(names, first, last, chosen))

    def detach(self, ops: Any, *, side: str = "both") -> Plan:
        """Cuts ops off: placeholders feed them (``inputs``), or feed what reads them (``outputs``), or ``both``.

        Args:
            ops: the ops: names, objects, a selection or a scope.
            side: ``inputs``, ``outputs`` or ``both``.

        Raises:
            PlanError: `side` is none of these.
        """
        given = self._given(f"detach({shown(ops)!r})")
        given.one_of("side", side, SIDES)
        return self._with(steps.DetachStep(given.ops(ops), side))

    def insert(
        self, op: Any, *, on: Any, name: str | Iterable[str], only: Any = None, exclude: Any = (), **attributes: Any
    ) -> Plan:
        """Puts a new op of one input, or a subgraph, on the edges between a tensor and its consumers.

        Gradients that are in the graph already lack what is derived from the new ops, and the plan warns of them.

        Args:
            op: its type, as ``"Identity"`` or ``"Relu"``; or a Python function of one tensor, which gives one.
            on: the tensor it reads; or several in a list, each of which gets one.
            name: what to call it; the scope of the ops that a function makes. Of several the first is called this,
                the others ``name_1``, ``name_2`` …; or a list of as many names.
            only, exclude: which consumers, as in `reroute`.
            attributes: values of its attributes; its dtype is that of the tensor.

        Raises:
            PlanError: a tensor is named twice, there are more or fewer names than tensors, or a function gets
                attributes.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Add", ["a", "b"])])
            >>> gs.Plan(g).insert("Identity", on=["a", "b"], name="probe").after().input_names(2)
            ['probe:0', 'probe_1:0']
        """
        word = self._given("insert()").word(op, "function") if callable(op) else ""
        given = self._given(f"insert({word or repr(op)}, on={shown(on)!r})")
        limits, held = given.some_ops(only), tuple(attributes.items())
        if callable(op) and held:
            wrong = f"a function has no attribute {held[0][0]!r}"
            raise PlanError(given.asked, wrong, "Give what it needs inside: lambda x: f(x, ...)")
        tensors = tuple(map(given.tensor, on if isinstance(on, (list, tuple)) else [on]))
        if len(set(tensors)) < len(tensors) or not tensors:
            wrong = "a tensor is named twice" if tensors else "it names no tensor"
            raise PlanError(given.asked, wrong, "Name each once")
        names = name if isinstance(name, str) else tuple(map(str, name))
        if not isinstance(names, str) and len(names) != len(tensors):
            wrong = f"{counted(len(names), 'names')} against {counted(len(tensors), 'tensors')}"
            raise PlanError(given.asked, wrong, "Give as many names, or one for all")
        return self._with(steps.InsertStep(op, tensors, names, held, limits, given.ops(exclude), word))

    def adapt(
        self,
        tensor: Any,
        *,
        to: Any = None,
        input: int | None = None,
        by: str | Iterable[str] = (),
        name: str = "",
        dtype: Any = None,
        shape: Any = None,
        only: Any = None,
        exclude: Any = (),
        **options: Any,
    ) -> Plan:
        """Makes a tensor fit where one of another dtype or shape is read, and lets it be read there.

        What comes out is called ``name:0``. Its dtype and shape are those of what is read there now, as far as they are
        known. A dense layer has variables of its own, with initial values, that are trained and saved like others.

        Args:
            tensor: the tensor.
            to: the op that is to read it, as for `connect`; or a tensor or placeholder, whose consumers are to read it
                instead, as for `reroute`. None: nothing reads it yet; a later step may, as a copy by its `inputs`.
            input: which input of the op; 0 where it is not said.
            by: ``cast``, ``reshape``, ``transpose``, ``pad``, ``resize``, ``pool`` or ``dense``; or several, one after
                another, as ``["pool", "dense"]``. Default: the most sensible one. A cast that it needs comes by itself.
            name: of what comes out, and of the scope of all else that is made; default: a free one.
            dtype, shape: what is to come out, where that is not what is read there now; None: not known.
            only, exclude: which consumers of a tensor, as in `reroute`.
            options: ``method`` of ``resize`` (``bilinear``, ``nearest`` …), ``mode`` of ``pool`` (``avg``, ``max``),
                ``perm`` of ``transpose``, ``paddings`` and ``value`` of ``pad``, ``bias`` and ``seed`` of ``dense``;
                ``data_format`` (``NHWC``, ``NCHW``) of all that have channels.

        Raises:
            PlanError: there is no such kind or option, or readers are named where there are none. All else is
                found by `check`.

        Example:
            >>> import tensorflow as tf, graphsurgeon as gs
            >>> with tf.Graph().as_default() as graph:
            ...     features = tf.compat.v1.placeholder(tf.float32, [None, 7, 7, 8], name="features")
            ...     pooled = tf.compat.v1.placeholder(tf.float32, [None, 4], name="pooled")
            ...     head = tf.nn.softmax(pooled, name="head")
            >>> plan = gs.open(graph).plan().adapt("features", to="head", by=["pool", "dense"], name="fit")
            >>> plan.check(), plan.after().input_names(2)
            ((), ['fit:0'])
        """
        given = self._given(f"adapt({shown_by(tensor_name, tensor)})")
        kinds = (by,) if isinstance(by, str) else tuple(by)
        held = tuple((key, tuples_of(value)) for key, value in options.items())
        wrong = option_fault(kinds, held)
        if wrong is not None:
            raise PlanError(given.asked, *wrong)
        end, at = None if to is None else given.name(to), None if input is None else given.number(input)
        limits, left = given.some_ops(only), given.ops(exclude)
        if at is not None and (end is None or ":" in end):
            raise PlanError(given.asked, f"input={at} is not of an op", "Give the op: to='op'")
        if (limits is not None or left) and (end is None or at is not None):
            raise PlanError(given.asked, "only= and exclude= are not for one input", "Give a tensor: to='x:0'")
        wish = Wish(kinds, None if dtype is None else given.dtype(dtype), given.shape(shape), held)
        return self._with(steps.AdaptStep(given.tensor(tensor), end, at, str(name).strip("/"), wish, limits, left))

    def remove(self, ops: Any, *, stitch: bool = False) -> Plan:
        """Takes ops out of the graph.

        Args:
            ops: a selection, names or objects. Nothing that stays may read them.
            stitch: what reads output 0 of a removed op reads what its first input reads; where several go and that
                does not fit, the only tensor that enters them, leads there and fits.
        """
        return self._with(steps.RemoveStep(self._given(f"remove({shown(ops)!r})").ops(ops), bool(stitch)))

    def set_attr(self, ops: Any, name: str, value: Any) -> Plan:
        """Sets an attribute of ops; None clears one that begins with ``_``.

        Args:
            ops: the ops: names, objects, a selection or a scope.
            name: the name of the attribute, as ``strides``.
            value: its new value, as Python has it: a number, text, dtype, shape or list; None clears it.
        """
        given = self._given(f"set_attr({shown(ops)!r}, {name!r})")
        return self._with(steps.SetStep(given.ops(ops), ((name, value),)))

    def set_device(self, ops: Any, device: str) -> Plan:
        """Sets the device of ops; an empty text lets TensorFlow choose.

        Args:
            ops: the ops: names, objects, a selection or a scope.
            device: the device, as ``/gpu:0``, or an empty text.
        """
        given = self._given(f"set_device({shown(ops)!r}, {device!r})")
        return self._with(steps.SetStep(given.ops(ops), (), str(device)))

    def add_control(self, op: Any, after: Any) -> Plan:
        """Lets an op run after others.

        Args:
            op: the op that should wait.
            after: the op or ops that should run before it.
        """
        given = self._given(f"add_control({shown(op)!r})")
        return self._with(steps.OrderStep(given.ops(op)[0], given.ops(after), False))

    def remove_control(self, op: Any, after: Any = None) -> Plan:
        """Lets an op no longer wait for others; for none at all where `after` is not given.

        Args:
            op: the op that waits.
            after: the op or ops that it should not wait for. Default: all.
        """
        given = self._given(f"remove_control({shown(op)!r})")
        others = given.some_ops(after)
        return self._with(steps.OrderStep(given.ops(op)[0], others, True))

    def reroute_control(self, old: Any, *, to: Any, only: Any = None, exclude: Any = ()) -> Plan:
        """Lets what waits for an op wait for others instead.

        Args:
            old: the op that is waited for, by name or object.
            to: one op or several.
            only, exclude: which ops that wait, as in `reroute`.
        """
        given = self._given(f"reroute_control({shown(old)!r}, to={shown(to)!r})")
        limits = given.some_ops(only)
        return self._with(steps.RerouteOrderStep(given.ops(old)[0], given.ops(to), limits, given.ops(exclude)))

    def rename(self, old: Any, to: str | None = None, *, values: Any = None) -> Plan:
        """Gives ops, or name scopes with all in them, other names: those of the graph, or what the plan makes.

        Nothing else changes: what reads them reads them under the new names, and so does what is placed with them, or
        lists them in a collection. Steps after this one use the new names.

        Its variables keep the values they hold: `session` hands them over, and back again after an undo.

        Args:
            old: an op or name scope; or a dict of old -> new, all of which change at once: names may change places.
                An op that is named itself goes where it is sent, whatever happens to its scope.
            to: the new name, which must be free.
            values: other values for its variables: ``"initial"`` resets them; else as in `copy`. An undo brings back
                what they held before.

        Raises:
            PlanError: no new name is given, or two.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("a/x", "Const", []), ("b/x", "Neg", ["a/x"])])
            >>> gs.Plan(g).rename({"a": "b", "b": "a"}).after().names
            ['b/x', 'a/x']
        """
        given = self._given(f"rename({shown(old)!r})")
        if isinstance(old, Mapping) == (to is not None):
            wrong = "a dict says both names" if to is not None else "it has no new name"
            raise PlanError(given.asked, wrong, "Type rename('old', to='new'), or rename({'old': 'new', ...})")
        pairs = old.items() if isinstance(old, Mapping) else [(old, to)]
        olds = ((given.op(one), new) for one, new in pairs)
        names = tuple((old if old in self.base.index else old.strip("/"), str(new).strip("/")) for old, new in olds)
        if not names or len({name for name, _ in names}) < len(names):
            wrong = "an op or scope is named twice" if names else "it is empty"
            raise PlanError(given.asked, wrong, "Name each once")
        return self._with(steps.RenameStep(names, values))

    # -- ops are made anew for what is there ----------------------------------------------------

    def on_copies(self, scope: str, *, until: Any = None, assign: str = "leave", collections: str = "none") -> Plan:
        """Carries the edits so far out on copies of what they change: nothing that exists is touched.

        All ops downstream of what changes are made again under a scope, with the new inputs. Variables are shared, and
        so is what does not change. Sessions that are open see the copies at once; the originals give what they gave.
        ``done["loss:0"]`` is the loss after the edits.

        Args:
            scope: that of the copies.
            until: ops or tensors to stop at; default: everything downstream. Loops and conds of TF1 that are touched
                are made again whole.
            assign: what to do with ops that set variables, tables, queues: ``leave`` them and what only feeds them as
                they are, or ``copy`` them, so that the copies set the same state.
            collections: ``none``, or the names under which copies are put in collections, as in `copy`.

        Raises:
            PlanError: `assign` or `collections` is not known. All else is found by `check`.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Exp", ["y"])])
            >>> plan = gs.Plan(g).reroute("a:0", to="b:0").on_copies(scope="new")
            >>> after = plan.after()
            >>> plan.mode, after.names[4:], after.input_names(2), after.input_names(4)
            ('append', ['new/y', 'new/z'], ['a:0'], ['b:0'])
        """
        given = self._given(f"on_copies(scope={scope!r})")
        given.one_of("assign", assign, ASSIGN)
        given.one_of("collections", collections, KEPT)
        return self._with(steps.OnCopiesStep(str(scope).strip("/"), given.ends(until), assign, collections))

    def replace(
        self,
        what: Any,
        by: Any,
        *,
        inputs: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        within: Selection | None = None,
        external: str = "refuse",
        to: str = "",
    ) -> Plan:
        """Puts another subgraph in the place of each match of a pattern.

        What reads an output of a match reads what replaces it. Ops of the match that nothing needs any more go; with
        `on_copies` they stay, and nothing that exists is touched. Matches that overlap, or of which a replacement would
        be computed from itself, are left as they are, and it is said. Control edges go over to what replaces.
        ``done.matches`` says for each match what took its place.

        Args:
            what: a pattern: a Python function of tensors, a selection (all like it), a small graph or a `Pattern`, as
                for ``ed.match``; or matches that it has found: all, some in a list, or one. The calls that a selection
                or match lies in are inlined before it.
            by: a Python function. Its arguments are inputs of the pattern, by name or in their order; one called
                ``match`` is given the `Match`, with the attributes and constants of its ops. It returns what takes the
                place of the outputs: one tensor, or several in a list, in order, or in a dict by name. An argument may
                be returned as it is. Variables that it makes are the graph's own, with initial values. Or an op type,
                as ``"Softplus"``: one op that takes the inputs of the pattern, in their order.
            inputs, where, attributes, constants: as for ``ed.match``.
            within: replace matches among these ops only.
            external: what to do with a match of which others read an inner tensor: ``refuse`` it, so that it is left
                as it is, and said; or ``keep`` its inner ops there for them.
            to: the scope of the new ops; default: the name of the first output. A number is added where it is taken.

        Raises:
            PlanError: `external` is not known, `by` is neither a function nor a text, or the matches or `within` are of
                another graph.
            SelectionError: `what` is not a pattern. All else is found by `check`.
        """
        given = self._given("replace()")
        words = given.word(what, "pattern"), by if isinstance(by, str) else given.word(by, "replacement")
        given = self._given(f"replace({words[0]}, {repr(by) if isinstance(by, str) else words[1]})")
        given.one_of("external", external, EXTERNAL)
        if not (isinstance(by, str) or callable(by)):
            wrong = f"{type(by).__name__} is not a function"
            raise PlanError(given.asked, wrong, "Give a function of the pattern's inputs, or an op type")
        about = {"inputs": inputs, "where": where, "attributes": attributes, "constants": constants}
        default: dict[str, Any] = {"inputs": None, "where": None, "attributes": (), "constants": "any"}
        options = tuple((key, value) for key, value in about.items() if value != default[key])
        found: Pattern | tuple[Match, ...]
        if isinstance(what, Match):
            found = (what,)
        elif isinstance(what, Matches) or (isinstance(what, (list, tuple)) and all(isinstance(m, Match) for m in what)):
            found = tuple(what)
        else:
            found = self.backend.pattern(what, given.asked, **about)
        for one in () if isinstance(found, Pattern) else found:
            given.own(one.graph, "the matches are", "Look for them in")
        if within is not None:
            given.own(within.graph, "within= is", "Select from")
        return self._with(steps.ReplaceStep(found, by, str(to).strip("/"), external, within, what, words, options))

    def collapse(self, what: Any, *, name: str) -> Plan:
        """Makes one function call of ops: a ``PartitionedCall``, or a ``StatefulPartitionedCall`` where state is used.

        Variables, placeholders and tables in it stay outside, placeholders with a default too; the call takes what it
        reads of them, variables by their handles. A TensorArray or a stack goes in whole. The call has a gradient.
        Numbers are the same, but for the last bit if TensorFlow fuses ops.

        Args:
            what: a selection, a name scope, or names.
            name: what to call it: a name that no op and no scope has.
        """
        chosen, ops = self._given(f"collapse(name={name!r})").scope_or_ops(what)
        return self._with(steps.CollapseStep(ops, str(name).strip("/"), chosen))

    def inline(self, calls: Any) -> Plan:
        """Puts what function calls compute in the place of the calls, those inside them too, under their names.

        A v2 ``If``, ``Case`` or ``While`` becomes a cond or loop of TF1, with its branches (``cond/then_branch/x``) or
        its condition and body (``while/body/x``) in the open, and so do those inside it. It runs in every session and
        has its gradient. Inside a call that is inlined they stay what they are, until they are named themselves.

        A step that names something inside of a call, as ``call/inner:0``, inlines the call before it by itself.

        Args:
            calls: ``PartitionedCall``, ``If``, ``Case`` or ``While`` ops, by name or object.
        """
        return self._with(steps.InlineStep(self._given("inline()").ops(calls)))

    def unroll(self, loop: Any, times: int) -> Plan:
        """Puts what a loop does in so many rounds in its place: copies of its body, one after another.

        Its condition is not asked any more. Where it is not sure that the loop makes just so many rounds, a warning
        says so. The rounds are called ``loop/body``, ``loop/body_1`` …; what is the same in each, as a variable, is
        shared.

        Args:
            loop: a v2 ``While`` op; or a ``while_loop`` of TF1, by its scope, or by one of the ops it is made of.
            times: how many rounds.

        Raises:
            PlanError: `times` is not a number of rounds. All else is found by `check`.
        """
        given = self._given(f"unroll({shown_by(op_name, loop)}, {times!r})")
        count = given.number(times, "times", "the number of rounds", "it as times=3")
        if count < 0:
            raise PlanError(given.asked, f"times={count} is less than none", "Type the number of rounds as times=3")
        return self._with(steps.UnrollStep(given.op(loop).rstrip("/"), count))

    def resolve_condition(self, predicate: Any, value: bool | int) -> Plan:
        """Says what conds ask: the branch that is then taken stays, under its names; all else of them goes.

        Conds of TF1 (``Switch``, ``Merge``) and v2 ``If`` that ask it, or a copy or the opposite of it, nested ones
        too; a v2 ``Case`` that asks it for a number. What read their results reads those of the branch. The predicate
        itself stays, and so does what else reads it.

        Args:
            predicate: the tensor that they ask, by name or object: a scalar bool, or the number of a branch.
            value: what it is from here on.

        Raises:
            PlanError: the value is neither a bool nor a number.

        Example:
            >>> import graphsurgeon as gs
            >>> g = gs.Graph.of([("x", "Placeholder", []), ("p", "Placeholder", []), ("s", "Switch", ["x", "p"]),
            ...               ("a", "Neg", ["s:0"]), ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"]),
            ...               ("y", "Abs", ["m"])])
            >>> after = gs.Plan(g).resolve_condition("p:0", True).after()
            >>> after.names, after.input_names(2), after.input_names(3)
            (['x', 'p', 'b', 'y'], ['x:0'], ['b:0'])
        """
        given = self._given(f"resolve_condition({shown_by(tensor_name, predicate)}, {value!r})")
        plain = value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
        if not isinstance(plain, int):
            wrong = f"{value!r} is neither a bool nor a number"
            raise PlanError(given.asked, wrong, "Type True or False, or the number of a branch")
        return self._with(steps.ConditionStep(given.tensor(predicate), plain))

    # -- what it does ---------------------------------------------------------------------------

    @cached_property
    def effect(self) -> Effect:
        """All that applying this plan would do, worked out once."""
        with self._naming_memory():
            found = resolve(self.base, self.steps, self.backend)
        return replace(found, warnings=(*found.warnings, *self.notes)) if self.notes else found

    @property
    def mode(self) -> str:
        """``append`` (nothing that exists is touched) or ``materialise`` (a new graph is built)."""
        return self.effect.mode

    def anew(self) -> Plan:
        """Returns the same plan, to be carried out in a new graph that also holds all of the old one, as it is."""
        plan = replace(self)
        plan.__dict__["effect"] = replace(self.effect, mode="materialise")
        return plan

    def check(self) -> tuple[Fault, ...]:
        """Returns every fault at once; empty when the plan can be applied."""
        effect = self.effect
        with self._naming_memory():
            return self.backend.check(effect)

    def _naming_memory(self) -> AbstractContextManager[None]:
        return naming_memory(f"plan: {steps_text(self.steps)}", self.backend.lacks_memory)

    def after(self) -> Graph:
        """Returns the destination as it would be after the plan."""
        return self.effect.after

    def preview(self) -> Preview:
        """Returns what the plan changes, as text, table and marks; touches no graph."""
        return Preview(self.effect, self.backend)

    def to_code(self) -> str:
        """Returns Python that makes and applies the same plan."""
        return plan_code(self.effect, self.backend)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return one_line(self.base.title, self.steps)

    def __str__(self) -> str:
        return str(self.preview())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.preview()._repr_mimebundle_(**options)
