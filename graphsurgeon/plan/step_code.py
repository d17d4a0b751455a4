"""Step code: writes a step as a call, which also is the request in messages; and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from ..errors import counted, few, one_or_all
from ..graph.pattern import Pattern
from ..graph.selection import Selection
from . import steps
from .function_source import Sources, literal, option_code
from .steps import INITIAL, Step


def request_of(step: Step) -> str:
    """Returns the request of a step, for messages.

    Example:
        >>> request_of(steps.ConnectStep("a:0", "b", 1)), request_of(steps.SwapStep(("a:0",), ("b:0",)))
        ("connect('a:0', to='b', input=1)", "swap('a:0', 'b:0')")
    """
    match step:
        case steps.CopyStep():
            return f"copy(to={step.to!r})"
        case steps.ReplaceStep():
            new = repr(step.replacement) if isinstance(step.replacement, str) else step.code_names[1]
            return f"replace({step.code_names[0]}, {new})"
        case steps.CollapseStep():
            return f"collapse({counted(len(step.ops), 'ops')}, name={step.name!r})"
        case steps.BypassStep() if len(step.ops) != 1:
            return f"bypass({counted(len(step.ops), 'ops')})"
        case steps.BypassStep():
            return f"bypass({step.ops[0]!r}{_ends(step)})"
        case steps.RenameStep():
            return rename_call(step, "").removeprefix(".")
        case steps.SetStep(device=None):
            name, value = step.attributes[0]
            return f"set_attr({one_or_all(step.ops)!r}, {name!r}, {literal(value)})"
        case steps.RebuildStep():
            return "rebuild()"
        case steps.MutedStep():
            return request_of(step.step)
        case _:
            return call(step, "ed", Sources()).removeprefix(".")


def call(step: Step, owner: str, sources: Sources) -> str:
    """Returns the call that adds a step to a plan. The module `code` writes copy steps, because it names their source.

    Args:
        step: the step.
        owner: the name of the editor in the code.
        sources: gets the functions and parameters that the call uses.
    """
    match step:
        case steps.ConnectStep():
            return f".connect({step.tensor!r}, to={step.to!r}, input={step.input})"
        case steps.RerouteStep():
            return f".reroute({one_or_all(step.old)!r}, to={one_or_all(step.to)!r}{_limits(step)})"
        case steps.SwapStep():
            return f".swap({one_or_all(step.a)!r}, {one_or_all(step.b)!r})"
        case steps.DetachStep():
            return f".detach({one_or_all(step.ops)!r}, side={step.side!r}{_limits(step)})"
        case steps.InsertStep():
            what = repr(step.op) if isinstance(step.op, str) else sources.code_name(step.op, step.code_name)
            name = step.name if isinstance(step.name, str) else list(step.name)
            attributes = "".join(f", {key}={literal(value, sources)}" for key, value in step.attributes)
            return f".insert({what}, on={one_or_all(step.on)!r}, name={name!r}{_limits(step)}{attributes})"
        case steps.AdaptStep():
            return _adapt_call(step, sources)
        case steps.BypassStep():
            what = (
                _ops_code(step, sources)
                if len(step.ops) != 1 or isinstance(step.code_argument, str)
                else repr(step.ops[0])
            )
            return f".bypass({what}{_ends(step)})"
        case steps.RemoveStep():
            return f".remove({one_or_all(step.ops)!r}{', stitch=True' if step.stitch else ''})"
        case steps.SetStep(device=None):
            name, value = step.attributes[0]
            return f".set_attr({one_or_all(step.ops)!r}, {name!r}, {literal(value, sources)})"
        case steps.SetStep():
            return f".set_device({one_or_all(step.ops)!r}, {step.device!r})"
        case steps.ControlStep():
            others = "" if step.others is None else f", {one_or_all(step.others)!r}"
            return f".{'remove' if step.remove else 'add'}_control({step.op!r}{others})"
        case steps.RerouteControlStep():
            return f".reroute_control({step.old!r}, to={one_or_all(step.to)!r}{_limits(step)})"
        case steps.RenameStep():
            given_values, initial = step.values, step.values == INITIAL
            values = (
                "session" if hasattr(given_values, "run") else owner if hasattr(given_values, "snapshot") else "values"
            )
            return rename_call(step, "" if given_values is None else repr(INITIAL) if initial else values)
        case steps.ReplaceStep():
            return _replace_call(step, owner, sources)
        case steps.CollapseStep():
            return f".collapse({_ops_code(step, sources)}, name={step.name!r})"
        case steps.InlineStep():
            return f".inline({one_or_all(step.ops)!r})"
        case steps.UnrollStep():
            return f".unroll({step.loop!r}, {step.times})"
        case steps.ConditionStep():
            return f".resolve_condition({step.tensor!r}, {step.value!r})"
        case steps.OnCopiesStep():
            more = f", until={one_or_all(step.until)!r}" if step.until else ""
            more += f", assign={step.assign!r}" if step.assign != "leave" else ""
            more += f", collections={step.collections!r}" if step.collections != "none" else ""
            return f".on_copies(scope={step.to!r}{more})"
        case _:
            raise TypeError(f"no method of a plan adds {type(step).__name__}")


def rename_call(step: steps.RenameStep, values: str) -> str:
    """Returns the call that adds a rename to a plan; `values` is the code for the source of values, or empty."""
    (old, new), several = step.names[0], len(step.names) > 1
    what = repr(dict(step.names)) if several else f"{old!r}, to={new!r}"
    return f".rename({what}" + (f", values={values})" if values else ")")


def _replace_call(step: steps.ReplaceStep, owner: str, sources: Sources) -> str:
    within = [sources.selection(step.within)] if step.within is not None else []
    what, options = step.code_argument, step.options
    if not isinstance(step.target, Pattern):  # for matches, the code searches for their pattern in their ops
        ops = sorted({i for one in step.target for i in one.numbers})
        graph = step.target[0].graph if step.target else None
        within = [f"{owner}.select(name={[graph.names[i] for i in ops]!r})"] if graph else []
        what = step.target[0].pattern if step.target else ()
    if isinstance(what, Pattern) and what.source is not None:
        what, options = what.source
    if isinstance(what, Selection):
        first = sources.selection(what)
    elif callable(what):
        first = sources.code_name(what, step.code_names[0])
    else:
        about = f"the {type(what).__name__} to look for"
        first = "[]" if what == () else sources.parameter(what, step.code_names[0], about)
    replacement = (
        repr(step.replacement)
        if isinstance(step.replacement, str)
        else sources.code_name(step.replacement, step.code_names[1])
    )
    more = [f"{key}={option_code(value, sources)}" for key, value in options]
    more += [f"within={text}" for text in within]
    more += [f"external={step.external!r}"] if step.external != "refuse" else []
    more += [f"to={step.to!r}"] if step.to else []
    return f".replace({', '.join([first, replacement, *more])})"


def _adapt_call(step: steps.AdaptStep, sources: Sources) -> str:
    wish, parts = step.spec, [repr(step.tensor)]
    parts += [] if step.to is None else [f"to={step.to!r}"]
    parts += [] if step.input is None else [f"input={step.input}"]
    parts += [f"kinds={one_or_all(wish.kinds)!r}"] if wish.kinds else []
    parts += [f"name={step.name!r}"] if step.name else []
    about = (("dtype", wish.dtype), ("shape", None if wish.shape is None else list(wish.shape)))
    parts += [f"{key}={value!r}" for key, value in about if value is not None]
    parts += [f"{key}={literal(value, sources)}" for key, value in wish.options]
    return f".adapt({', '.join(parts)}{_limits(step)})"


def _ops_code(step: steps.BypassStep | steps.CollapseStep, sources: Sources) -> str:
    """Returns the code of ops as they were given: a scope, a selection, or names."""
    if isinstance(step.code_argument, Selection):
        return sources.selection(step.code_argument)
    return repr(step.code_argument if isinstance(step.code_argument, str) else one_or_all(step.ops))


def _ends(step: steps.BypassStep) -> str:
    pairs = (("input", step.input), ("output", step.output))
    return "".join(f", {key}={value!r}" for key, value in pairs if value is not None)


def functions_of(step: Step) -> dict[str, Callable[..., Any]]:
    """Returns name in the code -> function, for the functions of a step."""
    pairs: list[tuple[str, Any]] = []
    if isinstance(step, steps.ReplaceStep):
        pairs = [(step.code_names[0], step.code_argument), (step.code_names[1], step.replacement)]
    elif isinstance(step, steps.InsertStep):
        pairs = [(step.code_name, step.op)]
    return {word: thing for word, thing in pairs if not isinstance(thing, str)}


def _limits(
    step: steps.RerouteStep | steps.DetachStep | steps.InsertStep | steps.AdaptStep | steps.RerouteControlStep,
) -> str:
    """Returns the arguments `only` and `exclude` as code."""
    only = f", only={one_or_all(step.only)!r}" if step.only is not None else ""
    return only + (f", exclude={one_or_all(step.exclude)!r}" if step.exclude else "")


def step_text(step: Step) -> str:
    """Returns a step in words.

    Example:
        >>> step_text(steps.ConnectStep("a:0", "b", 1)), step_text(steps.RemoveStep(("a", "b"), stitch=True))
        ('connect a:0 to input 1 of b', 'remove a, b and reconnect their consumers')
    """
    match step:
        case steps.CopyStep():
            place = f"{step.to}/" if step.to else "the top"
            graph, ops = step.selection.graph, counted(len(step.selection), "ops")
            inside = f" inside {few(graph.unfolded.outer_calls)}, left as it is," if graph.unfolded else ""
            return f"copy {ops}{inside} of {graph.title} to {place}"
        case steps.ConnectStep():
            return f"connect {step.tensor} to input {step.input} of {step.to}"
        case steps.RerouteStep():
            return f"reroute {_whose(few(step.old), step.only, step.exclude)} to {few(step.to)}"
        case steps.SwapStep():
            return f"swap the consumers of {few(step.a)} and {few(step.b)}"
        case steps.DetachStep():
            place = "" if step.only is None else f" for {few(step.only)}"
            place += f" except for {few(step.exclude)}" if step.exclude else ""
            return f"detach the {'inputs and outputs' if step.side == 'both' else step.side} of {few(step.ops)}{place}"
        case steps.InsertStep():
            what = step.op if isinstance(step.op, str) else f"{step.code_name} as"
            name = step.name if isinstance(step.name, str) else few(step.name)
            return f"insert {what} {name} between {few(step.on)} and {_whose(few(step.on), step.only, step.exclude)}"
        case steps.AdaptStep():
            how = f" by {' and '.join(step.spec.kinds)}" if step.spec.kinds else ""
            return f"adapt {step.tensor}{how}" + _place(step)
        case steps.BypassStep():
            return f"bypass {few(step.ops)}"
        case steps.RemoveStep():
            return f"remove {few(step.ops)}" + (" and reconnect their consumers" if step.stitch else "")
        case steps.SetStep():
            if step.device is not None:
                return f"place {few(step.ops)} on {step.device or 'any device'}"
            return f"set {', '.join(name for name, _ in step.attributes)} of {few(step.ops)}"
        case steps.ControlStep():
            whom = "anything" if step.others is None else few(step.others)
            return f"run {step.op} {'without waiting for' if step.remove else 'after'} {whom}"
        case steps.RerouteControlStep():
            whom = "all waiting ops" if step.only is None else few(step.only)
            more = f" except {few(step.exclude)}" if step.exclude else ""
            return f"make {whom}{more} wait for {few(step.to)} instead of {step.old}"
        case steps.RenameStep():
            return "rename " + few([f"{old} to {new}" for old, new in step.names])
        case steps.ReplaceStep():
            kind = f"each {step.target}" if isinstance(step.target, Pattern) else counted(len(step.target), "matches")
            return f"replace {kind.partition(';')[0]} by {step.code_names[1]}"
        case steps.CollapseStep():
            return f"collapse {few(step.ops)} to one call, {step.name}"
        case steps.InlineStep(is_implicit=True):
            return f"inline {few(step.ops)}, because a later step names an op inside"
        case steps.InlineStep():
            return f"inline {few(step.ops)}"
        case steps.UnrollStep():
            return f"unroll {step.loop} to {counted(step.times, 'rounds')}"
        case steps.ConditionStep():
            return f"resolve conditions: {step.tensor} is {step.value}"
        case steps.OnCopiesStep():
            end = f", up to {few(step.until)}" if step.until else ""
            return f"make the edits so far on copies under {step.to}/{end}"
        case steps.MutedStep():
            return f"muted: {step_text(step.step)}"
        case steps.RebuildStep():
            count = len(step.orphans)
            return f"rebuild the graph without {counted(count, 'orphans')}" if count else "rebuild the graph"
        case _:
            assert_never(step)


def steps_text(steps: Sequence[Step]) -> str:
    """Returns the first two steps in words, and how many more there are.

    Example:
        >>> steps_text([steps.RemoveStep((name,)) for name in "abcd"])
        'remove a; remove b; and 2 more steps'
    """
    more = [f"and {counted(len(steps) - 2, 'more steps')}"] if len(steps) > 2 else []
    return "; ".join([*map(step_text, steps[:2]), *more])


def one_line(title: str, steps: Sequence[Step]) -> str:
    """Returns a plan for a graph of this title in one line."""
    return f"<Plan for {title}: {'; '.join(map(step_text, steps)) or 'empty'}>"


def _place(step: steps.AdaptStep) -> str:
    """The place of an adapted tensor, in words."""
    if step.to is None:
        return f", as {step.name}:0" if step.name else ""
    if ":" in step.to:
        return f" for {_whose(step.to, step.only, step.exclude)}"
    return f" to input {step.input or 0} of {step.to}"


def _whose(tensor: str, only: tuple[str, ...] | None, exclude: tuple[str, ...]) -> str:
    """The consumers of a tensor that a step is for, in words."""
    if only is not None:
        return f"the consumer{'s' * (len(only) != 1)} {few(only)} of {tensor}"
    return f"the consumers of {tensor}" + (f" except {few(exclude)}" if exclude else "")
