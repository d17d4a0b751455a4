"""Flat: replaces calls in a graph on paper by the ops of their functions; nothing is imported or run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from ...graph.functions import BRANCHING
from ...graph.graph import Graph
from ...graph.live import TFNodeDef
from ...graph.names import free_name, op_name
from ...graph.traversal import end_of, met_from
from ..functions.body import Places, in_place
from ..functions.calls import Calls

#: Of a function's name: the text that TensorFlow adds before and after the user's name, and the letters that an op's
#: name cannot have.
_LEAD, _TAIL = re.compile(r"^_*(inference|forward|internal)_+"), re.compile(r"_\d+$")
_ODD = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9_]")


class Flat:
    """Nodes of a graph in which calls are replaced by the ops of their functions.

    No function has a name with ``#`` in it: nodes with such names leave all other names to the functions.

    Args:
        nodes: NodeDefs; they are changed in place.
        functions: name -> FunctionDef.

    Attributes:
        nodes: the current nodes, by name. A call inside a function also has a name with ``#``.
        names: such a name -> the name in the function.
        stays: a call that stays -> the reason.
    """

    def __init__(self, nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> None:
        self.nodes: dict[str, Any] = {node.name: node for node in nodes}
        self.names: dict[str, str] = {}
        self.stays: dict[str, str] = {}
        self._calls = Calls(Graph.read([], functions_of=lambda: functions))
        self._places = Places()
        self._around: dict[str, tuple[str, ...]] = {}  # op -> the functions it is in, the innermost last
        self._read: dict[str, list[str]] = {}  # op -> the ops that it reads and waits for; cleared with each call

    def outer(self, ends: Iterable[str]) -> list[str]:
        """Replaces the call that computes all of `ends`, repeatedly; returns the tensors that take their places."""
        found = [self.end(tensor) for tensor in ends]
        while True:
            behind = [self._through(tensor) for tensor in found]
            doers = {op_name(tensor) for tensor in behind}
            callers = [name for name in doers if self._calls.called(self.nodes[name])]
            others = any(self._around.get(name) for name in doers.difference(callers))
            if len(callers) != 1 or others or not self._gives_way(callers[0]):
                return found
            beside = self.needed(behind).keys() - {callers[0]}
            self._open(callers[0], {self.names.get(name, name).lower() for name in beside})
            found = [self.end(tensor) for tensor in behind]

    def inner(self, ends: Iterable[str], exclude: Container[str]) -> None:
        """Replaces all calls that `ends` need, except those in `exclude`; each gets its own name scope."""
        while True:
            names = self.needed(ends)
            todo = [n for n in names if n not in exclude and self._calls.called(self.nodes[n]) and self._gives_way(n)]
            if not todo:
                return
            for call in todo:
                wish = _TAIL.sub("", _LEAD.sub("", self._calls.called(self.nodes[call])))
                wish = _ODD.sub("", wish) or "call"
                scopes = {self.names.get(name, name).lower().partition("/")[0] for name in self.nodes}
                self._open(call, (), free_name(wish, lambda s: s.lower() in scopes, as_tensorflow=True) + "/")  # noqa: B023

    def needed(self, ends: Iterable[str]) -> dict[str, None]:
        """Returns the names of the ops that tensors and ops need, including these."""
        return met_from((op_name(one) for end in ends for one in self._resolved(end)), self._before)

    def _before(self, name: str) -> list[str]:
        """The ops that one reads and waits for."""
        read = self._read.get(name)
        if read is None:
            read = self._read[name] = list(map(op_name, self._join(self.nodes[name])))
        return read

    def end(self, tensor: str) -> str:
        """Returns the tensor that replaces another, or the tensor itself."""
        return self._places.end(tensor)

    def effects(self, op: str) -> list[str]:
        """Returns the ops with the effects of an op: for a replaced call, those of its function."""
        return list(dict.fromkeys(op_name(text) for text in self._resolved(op)))

    # -- one call -------------------------------------------------------------------------------

    def _gives_way(self, call: str) -> bool:
        node = self.nodes[call]
        name = self._calls.called(node)
        if call in self.stays or node.op in BRANCHING:
            return False
        if name in self._around.get(call, ()):
            self.stays[call] = f"its function {name!r} calls itself"
        elif name not in self._calls.definitions:
            self.stays[call] = f"its function {name!r} is not in the file"
        elif self._calls.takes_dtypes(name):
            self.stays[call] = f"its function {name!r} takes dtypes as parameters"
        return call not in self.stays

    def _open(self, call: str, taken: Container[str], scope: str = "") -> None:
        """Replaces a call by the nodes of its function, which keep their names if none of these is taken."""
        node = self.nodes.pop(call)
        self._join(node)
        function = self._calls.called(node)
        inner = self._calls.definitions[function]
        if not scope and any(n.name.lower() in taken for n in inner.node_def):
            scope = f"{self.names.get(call, 'call')}/"
        names = {n.name: scope + n.name for n in inner.node_def}
        for old in inner.node_def:
            if self._calls.called(old):  # a function that it calls may have an op of that name
                names[old.name] = f"#{scope}{old.name}#{len(self.names)}"
                self.names[names[old.name]] = scope + old.name
        made = in_place(self._calls, node, scope, self._free, names)
        for new in made.nodes:
            self.nodes[new.name] = new
        for name in names.values():
            self._around[name] = (*self._around.get(call, ()), function)
        self._places.put(node, made, made.effects or made.ends)
        self._read.clear()

    def _free(self, wish: str) -> str:
        return free_name(wish, self.nodes.__contains__, as_tensorflow=True)

    # -- edges ----------------------------------------------------------------------------------

    def _join(self, node: TFNodeDef) -> list[str]:
        """Makes a node read and wait for the replacements of calls; returns its inputs."""
        texts = list(node.input)
        gone = self._places.waits
        if not any(text[0] == "^" or text.partition(":")[0] in gone for text in texts):
            return texts
        read = self._places.inputs(texts, self._resolved)
        if read != texts:
            node.input[:] = read
        return read

    def _resolved(self, end: str) -> Iterator[str]:
        """Yields the replacements of a tensor, or of an op that is waited for."""
        if ":" in end:
            yield self.end(end)
            return
        todo = [end]
        while todo:
            text = todo.pop()
            if text.removeprefix("^") in self._places.waits:
                todo += self._places.waits[text.removeprefix("^")]
            else:
                yield text

    def _through(self, tensor: str) -> str:
        """The tensor before the ``Identity`` ops at the end of a function.

        If these wait for another op with effects, the result itself.
        """
        waited: set[str] = set()

        def behind(end: str) -> str | None:
            node = self.nodes[op_name(end)]
            if node.op != "Identity":
                return None
            self._join(node)
            waited.update(self._waited(node))
            return self.end(node.input[0])

        at = end_of(tensor, behind)
        acting = {name for name in waited if self._calls.acts(self.nodes[name])}
        return at if acting <= {op_name(at)} else tensor

    def _waited(self, node: TFNodeDef) -> set[str]:
        """The ops that an op waits for, through those that do nothing but wait."""
        start = [text[1:] for text in node.input if text[0] == "^"]
        found = met_from(start, lambda name: self._before(name) if self.nodes[name].op == "NoOp" else ())
        return {name for name in found if self.nodes[name].op != "NoOp"}
