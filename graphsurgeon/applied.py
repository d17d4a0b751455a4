"""Applied: what a plan made, and where each thing of the source went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .core.copied import Copied
from .core.effect import Effect
from .errors import SelectionError, did_you_mean


@dataclass(eq=False)
class Applied:
    """The result of `Editor.apply`: ask it for a source name or object, get the copy.

    Args:
        effect: the effect that was carried out.
        graph: the live graph it was carried out on (for a materialised plan, the new one).
        made: what was made there.
        editor: the editor that applied it.

    Example:
        ``done["mixed4a:0"]`` is a tensor, ``done["conv1"]`` an op, ``done["w"]`` or ``done[w]`` a `tf.Variable`.
    """

    effect: Effect
    graph: Any
    made: Any
    editor: Any = None

    def __getitem__(self, key: Any) -> Any:
        """Returns the copy of a source op, tensor or variable, given by name or object; of a structure, its like.

        Raises:
            SelectionError: nothing of that name was copied.
        """
        if not isinstance(key, str) and (not hasattr(key, "name") or hasattr(key, "_variable_list")):
            from .tf.items import moved

            return moved(key, self.graph, self.__getitem__, lambda name: None)
        name = str(getattr(key, "name", key))
        owner = getattr(key, "graph", None) if not isinstance(key, str) else None
        as_variable = not isinstance(key, str) and hasattr(key, "initializer")
        if as_variable:
            name = key.op.name
        for copied in reversed(self.effect.copies):
            if owner is not None and copied.source.owner is not owner:
                continue
            found = self._in(copied, name)
            if found is not None:
                return found
        wanted = name.partition(":")[0]
        if self.effect.mode == "materialise" and wanted in self.effect.plan.base.index:
            # The rest of the destination went into the new graph under its own names.
            return self._element(wanted, name.partition(":")[2])
        known = [c.source.names[i] for c in self.effect.copies for i in c.ops.tolist()]
        raise SelectionError(f"done[{name!r}]", f"no copy was made of {wanted!r}", did_you_mean(wanted, known))

    def _in(self, copied: Copied, name: str) -> Any:
        op, colon, port = name.partition(":")
        number = copied.source.index.get(op)
        if number is None:
            return None
        if colon:
            copied.source.tensor(name, f"done[{name!r}]")
        if colon and (number, int(port)) in copied.external:
            new, new_port = copied.external[number, int(port)]
            return self.graph.get_operation_by_name(new).outputs[new_port]
        if copied.place[number] >= 0:
            new = copied.renamed(op)
            if colon:
                return self.graph.get_operation_by_name(new).outputs[int(port)]
            variable = self.made.variables.get(new)
            return self.graph.get_operation_by_name(new) if variable is None else variable
        if not colon and (number, 0) in copied.external:
            return self.graph.get_operation_by_name(copied.external[number, 0][0])
        return None

    def _element(self, op: str, port: str) -> Any:
        found = self.graph.get_operation_by_name(op)
        if port:
            return found.outputs[int(port)]
        return self.made.carried.get(op, found)

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except SelectionError:
            return False
        return True

    @property
    def ops(self) -> list[str]:
        """Names of the new ops."""
        return list(self.made.ops)

    @property
    def variables(self) -> list[Any]:
        """The new `tf.Variable` objects."""
        return list(self.made.variables.values())

    def __repr__(self) -> str:
        held = f", {len(self.made.infos)} variables" if self.made.infos else ""
        steps = "; ".join(s.text for s in self.effect.plan.steps)
        return f"<Applied: {steps}: {len(self.made.ops)} new ops{held}>"
