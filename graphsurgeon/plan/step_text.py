"""Step text: a step in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ..errors import counted, few
from ..graph.match.pattern import Pattern
from . import steps
from .steps import Step


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
            inside = f" inside {few(graph.unfolded.outer)}, left as it is," if graph.unfolded else ""
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
            what = step.op if isinstance(step.op, str) else f"{step.word} as"
            name = step.name if isinstance(step.name, str) else few(step.name)
            return f"insert {what} {name} between {few(step.on)} and {_whose(few(step.on), step.only, step.exclude)}"
        case steps.AdaptStep():
            how = f" by {' and '.join(step.wish.by)}" if step.wish.by else ""
            return f"adapt {step.tensor}{how}" + _place(step)
        case steps.BypassStep():
            return f"bypass {few(step.ops)}"
        case steps.RemoveStep():
            return f"remove {few(step.ops)}" + (" and reconnect their consumers" if step.stitch else "")
        case steps.SetStep():
            if step.device is not None:
                return f"place {few(step.ops)} on {step.device or 'any device'}"
            return f"set {', '.join(name for name, _ in step.attributes)} of {few(step.ops)}"
        case steps.OrderStep():
            whom = "anything" if step.others is None else few(step.others)
            return f"run {step.op} {'without waiting for' if step.remove else 'after'} {whom}"
        case steps.RerouteOrderStep():
            whom = "all waiting ops" if step.only is None else few(step.only)
            more = f" except {few(step.exclude)}" if step.exclude else ""
            return f"make {whom}{more} wait for {few(step.to)} instead of {step.old}"
        case steps.RenameStep():
            return "rename " + few([f"{old} to {new}" for old, new in step.names])
        case steps.ReplaceStep():
            kind = f"each {step.what}" if isinstance(step.what, Pattern) else counted(len(step.what), "matches")
            return f"replace {kind.partition(';')[0]} by {step.words[1]}"
        case steps.CollapseStep():
            return f"collapse {few(step.ops)} to one call, {step.name}"
        case steps.InlineStep(opens=True):
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
