"""Parts: a part of a graph as a separate model, in a new editor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..editor import Editor
from ..errors import PlanError
from ..graph.boundary import entering
from ..graph.graph import Graph, Mask
from ..graph.names import free_name
from ..graph.parts import refuse_part
from ..graph.selection import Selection, listed
from ..graph.variables import PLACEHOLDER_TYPES
from ..open import open
from .subject import ends_now


@dataclass(frozen=True)
class Part:
    """An editor of a part, and tensor of the whole -> tensor of the part, for the inputs and for the outputs."""

    editor: Editor
    taken: Mapping[str, str]
    given: Mapping[str, str]


def block(graph: Graph, mask: Mask, inputs: list[tuple[int, int]], outputs: list[str]) -> Selection:
    """Returns some ops as a selection with a boundary.

    Args:
        graph: the graph.
        mask: the ops.
        inputs: tensors that are fed. Tensors that the ops do not read are left out.
        outputs: the tensors that the ops compute.
    """
    read = entering(graph, mask, frozenset(inputs))
    ends = tuple(graph.tensor(name) for name in outputs)
    return replace(listed(graph, mask), inputs=tuple(one for one in inputs if one in read), outputs=ends)


def placeholders(chosen: Selection) -> list[str]:
    """Returns the output tensors of the placeholders among some ops."""
    return [f"{chosen.graph.names[op]}:0" for op in chosen.numbers if chosen.graph.types[op] in PLACEHOLDER_TYPES]


def keys_of(ed: Editor, tensors: Iterable[str], wishes: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Returns tensor -> its name as an argument or result. Tensors of an opened function keep their names.

    Args:
        ed: the editor of the graph.
        tensors: the tensors.
        wishes: tensor -> the name that it gets if the name is free.
    """
    keys = {tensor: key for ends in ends_now(ed) for key, tensor in ends.items()}
    for tensor in tensors:
        wish = wishes.get(tensor) or tensor.removesuffix(":0").replace("/", "_").replace(":", "_")
        keys.setdefault(tensor, free_name(wish, list(keys.values()).__contains__))
    return keys


def part(ed: Editor, chosen: Selection, keys: Mapping[str, str], given: list[str], title: str, request: str) -> Part:
    """Returns a part of a graph in a new editor. Its ops keep their names, its variables their current values.

    Args:
        ed: the editor of the graph, which stays unchanged.
        chosen: the ops; each tensor that enters is replaced by a placeholder.
        keys: tensor -> its name as an argument or result.
        given: the output tensors of the part.
        title: the title of the new editor.
        request: the request, for messages.

    Raises:
        PlanError: if the part cannot be copied.
    """
    from ..tf.elements import graph_with_placeholders

    refuse_part(chosen.graph, chosen.mask, chosen.inputs, request, map(chosen.graph.tensor, given))
    made = open(graph_with_placeholders({}, request), title=title)
    plan = made.plan().copy(chosen, unmapped="placeholder", control="drop", values=ed)
    for fault in plan.check():
        raise PlanError(request, fault.problem, fault.suggestion)
    done, graph = made.apply(plan), chosen.graph
    taken = [*(graph.name(tensor) for tensor in chosen.inputs), *placeholders(chosen)]
    ends = [{tensor: done[tensor].name for tensor in names} for names in (taken, given)]
    named = [{keys[there]: here for there, here in end.items()} for end in ends]
    made.opened = replace(made.opened, inputs=named[0], outputs=named[1], ends=((), ()))
    return Part(made, *ends)
