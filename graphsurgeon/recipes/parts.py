"""Parts: a part of a graph as a model of its own, in an editor of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

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
    """An editor, and tensor of the whole -> tensor of it, of what it takes and of what it gives."""

    editor: Editor
    taken: Mapping[str, str]
    given: Mapping[str, str]


def block(graph: Graph, mask: Mask, inputs: list[tuple[int, int]], outputs: list[str]) -> Selection:
    """Returns some ops as a selection with a boundary.

    Args:
        graph: the graph.
        mask: the ops.
        inputs: tensors that are fed; those that the ops do not read are left out.
        outputs: the tensors that they are for.
    """
    read = entering(graph, mask, frozenset(inputs))
    ends = tuple(graph.tensor(name) for name in outputs)
    return replace(listed(graph, mask), inputs=tuple(one for one in inputs if one in read), outputs=ends)


def placeholders(chosen: Selection) -> list[str]:
    """Returns the tensors that the placeholders among some ops give."""
    return [f"{chosen.graph.names[op]}:0" for op in chosen.numbers if chosen.graph.types[op] in PLACEHOLDER_TYPES]


def keys_of(ed: Editor, tensors: Iterable[str]) -> dict[str, str]:
    """Returns tensor -> what it is called as an argument or result; those of an opened function keep their names."""
    keys = {tensor: key for ends in ends_now(ed) for key, tensor in ends.items()}
    for tensor in tensors:
        wish = tensor.removesuffix(":0").replace("/", "_").replace(":", "_")
        keys.setdefault(tensor, free_name(wish, list(keys.values()).__contains__))
    return keys


def part(ed: Editor, chosen: Selection, keys: Mapping[str, str], given: list[str], title: str, asked: str) -> Part:
    """Returns a part of a graph in an editor of its own, its ops under their old names, with their current values.

    Args:
        ed: the editor of the graph; it stays as it is.
        chosen: the ops; a placeholder takes the place of each tensor that enters.
        keys: tensor -> what it is called as an argument or result.
        given: the tensors that it is for.
        title: what to call it.
        asked: the request, for messages.

    Raises:
        PlanError: it cannot be copied out.
    """
    from ..tf.elements import graph_with_placeholders

    refuse_part(chosen.graph, chosen.mask, chosen.inputs, asked, map(chosen.graph.tensor, given))
    made = open(graph_with_placeholders({}, asked), title=title)
    plan = made.plan().copy(chosen, unmapped="placeholder", control="drop", values=ed)
    for fault in plan.check():
        raise PlanError(asked, fault.wrong, fault.instead)
    done, graph = made.apply(plan), chosen.graph
    taken = [*(graph.name(tensor) for tensor in chosen.inputs), *placeholders(chosen)]
    ends = [{tensor: done[tensor].name for tensor in names} for names in (taken, given)]
    named = [{keys[there]: here for there, here in end.items()} for end in ends]
    made.opened = replace(made.opened, inputs=named[0], outputs=named[1], ends=((), ()))
    return Part(made, *ends)
