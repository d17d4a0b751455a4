"""The step that copies ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from ...errors import counted, few
from ...graph.selection import Selection
from ..function_source import Sources
from .base import Adaptation, Code, DestinationName, NewName, NewScope, PlainText, Policy, SourceName, Step, call_code

#: The values of the arguments of `Plan.copy`.
UNMAPPED = ("include", "keep", "placeholder", "refuse")
CONTROL = ("drop", "include", "keep", "refuse")
SEEDS = ("keep", "new")
COLLECTIONS = ("keep", "none", "rename", "variables")


@dataclass(frozen=True)
class CopyStep(Step):
    """Copy a selection under a name scope; see `Plan.copy`."""

    selection: Selection
    to: Annotated[NewScope, "Scope"]
    inputs: tuple[tuple[SourceName, DestinationName], ...] = ()
    unmapped: Annotated[PlainText, "Unmapped inputs", UNMAPPED] = "refuse"
    control: Annotated[PlainText, "Control inputs from outside", CONTROL] = ""
    variables: tuple[tuple[SourceName, Policy], ...] = (("*", "copy"),)
    values: Any = None
    collections: Annotated[PlainText, "Collections", COLLECTIONS] = "rename"
    device: PlainText | tuple[tuple[PlainText, PlainText], ...] = "keep"
    seeds: Annotated[PlainText, "Seeds of random ops", SEEDS] = "keep"
    reuse: Mapping[SourceName, DestinationName] | None = (
        None  # source op -> op of the destination that is already its copy
    )
    constants: tuple[tuple[SourceName, Any], ...] = ()  # source tensor -> array that replaces it
    names: Mapping[SourceName, NewName] | None = (
        None  # source op, or tensor with a placeholder -> full name of the new op
    )
    trainable: bool = True

    @cached_property
    def request(self) -> str:
        return f"copy(to={self.to!r})"

    def resolve(self, state: Any) -> None:
        """Copies the selection and all ops that it needs."""
        state.add_copy(state.resolve_copy(self))

    def code(self, sources: Sources) -> str:
        sources.selections.append(f"{sources.block} = {sources.selection(self.selection)}")
        # The values are before the constants, so that the parameters of a script are in this order.
        values = None if self.values is None else Code(sources.names.values_code(self))
        inputs = _inputs_code(self, sources.names.constants_code(self) if self.constants else "")
        control = "keep" if self.selection.graph.folded.owner is sources.owner else "refuse"
        policy, devices = dict(self.variables), self.device if isinstance(self.device, str) else dict(self.device)
        return call_code(
            "copy",
            Code(sources.block),
            to=self.to,
            inputs=Code(inputs) if inputs else None,
            **self.given("unmapped"),
            control=None if self.control == control else self.control,
            variables=_only_rule(policy) if self.given("variables") else None,
            values=values,
            **self.given("collections"),
            device=_only_rule(devices) if self.given("device") else None,
            **self.given("seeds"),
            reuse=_plain_names(self.reuse),
            names=_plain_names(self.names),
            **self.given("trainable"),
        )

    def describe(self) -> str:
        place = f"{self.to}/" if self.to else "the top"
        graph, ops = self.selection.graph, counted(len(self.selection), "ops")
        inside = f" inside {few(graph.unfolded.outer_calls)}, left as it is," if graph.unfolded else ""
        return f"copy {ops}{inside} of {graph.title} to {place}"

    def adapted(self, old: str, new: str, name: str) -> Adaptation:
        inputs = tuple((one, f"{name}:0" if one == old else by) for one, by in self.inputs)
        return {"name": name}, (replace(self, inputs=inputs),), f", then inputs={{{old!r}: '{name}:0'}}"


def _inputs_code(step: CopyStep, constants: str) -> str:
    """Returns the tensors and constants that replace tensors, as one mapping; `constants` is a mapping or its name."""
    if not step.inputs:
        return constants
    pairs = [f"{a!r}: {b!r}" for a, b in step.inputs]
    if constants:
        pairs.append(constants[1:-1] if constants.startswith("{") else f"**{constants}")
    return "{" + ", ".join(pairs) + "}"


def _only_rule(rules: str | dict[str, str]) -> str | dict[str, str]:
    """Returns the value of the only rule, ``"*"``, or all rules."""
    return rules["*"] if isinstance(rules, dict) and list(rules) == ["*"] else rules


def _plain_names(pairs: Mapping[Any, Any] | None) -> dict[str, str] | None:
    """Returns pairs of ops, given by name or as objects, by name."""
    if pairs is None:
        return None
    return {str(getattr(old, "name", old)): str(getattr(new, "name", new)) for old, new in pairs.items()}
