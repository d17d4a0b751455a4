"""A live graph that is filled from its file when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import OpenError

_MARK = "graphsurgeon_pending"
_DEFERRED = "graphsurgeon_deferred"


class DeferredGraph:
    """A live graph that is made when it is first needed. Until then, it identifies the graph of a file.

    The live graph gets its attributes.

    Args:
        create: returns a new, empty live graph.

    Attributes:
        live: the live graph; None until it is made.
    """

    __slots__ = ("__dict__", "__weakref__", "_create", "live")

    def __init__(self, create: Callable[[], Any]) -> None:
        self._create, self.live = create, None

    def materialize(self) -> Any:
        """Returns the live graph, and makes it if necessary."""
        if self.live is None:
            live = self._create()
            for name, value in self.__dict__.items():
                setattr(live, name, value)
            setattr(live, _DEFERRED, self)  # keeps this object alive as long as the live graph
            self.live = live
        return self.live


def materialized_graph(graph: Any) -> Any:
    """Returns the live graph of a deferred graph if it was made, otherwise the graph itself.

    Args:
        graph: a live or deferred graph.

    Example:
        >>> class Live: "As a `tf.Graph`."
        >>> graph = DeferredGraph(Live)
        >>> before, live = materialized_graph(graph), graph.materialize()
        >>> before is graph, materialized_graph(graph) is live
        (True, True)
    """
    return graph.live if isinstance(graph, DeferredGraph) and graph.live is not None else graph


def graph_identity(graph: Any) -> Any:
    """Returns the object that always identifies a graph: the deferred graph, or the live graph if there is none.

    Args:
        graph: a live or deferred graph.

    Example:
        >>> class Live: "As a `tf.Graph`."
        >>> graph = DeferredGraph(Live)
        >>> graph_identity(graph) is graph_identity(graph.materialize()) is graph
        True
    """
    return getattr(graph, _DEFERRED, graph)


class LiveGraphAttribute:
    """An attribute with a live graph as its value. The live graph replaces a deferred graph as soon as it is made.

    Example:
        >>> class Live: "As a `tf.Graph`."
        >>> class Editor:
        ...     graph = LiveGraphAttribute()
        >>> editor = Editor()
        >>> editor.graph = DeferredGraph(Live)
        >>> editor.graph.materialize() is editor.graph
        True
    """

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, obj: Any, kind: type | None = None) -> Any:
        return None if obj is None else materialized_graph(obj.__dict__[self._name])

    def __set__(self, obj: Any, graph: Any) -> None:
        obj.__dict__[self._name] = graph


class LazyGraph:
    """The content of a live graph that is still empty.

    The graph is deferred, and it owns all its snapshots. It is made, and its ops are added, when it is first needed.

    Args:
        read_file: the snapshot, read from the file without TensorFlow.
        fill: adds the ops of the file to the graph; raises OpenError if TensorFlow refuses them. If a refusal is given,
            stand-ins replace the refused ops. None if no ops can be added.
        records: the records of applied plans in the file.
        refusal: the reason why TensorFlow will refuse the graph as a whole, if it is known already.
        trial: imports the graph in another process; called once, before ops are added. Its argument is whether to infer
            shapes. Returns the snapshot, with these shapes, and an error if the import would end this process. None if
            the file is trusted.

    Attributes:
        read: the snapshot, with the shapes that have been inferred.
        records: see above.
        refusal: why TensorFlow refuses the graph; None as long as no reason is known.
        filled: whether the ops are in the graph, including stand-ins for refused ones.
        is_importable: whether no trial is needed before ops are added.
    """

    def __init__(
        self,
        read_file: Any,
        fill: Callable[[Any], None] | None,
        records: Sequence[bytes] = (),
        refusal: OpenError | None = None,
        trial: Callable[[bool], tuple[Any, OpenError | None]] | None = None,
    ) -> None:
        self.read, self.records, self.refusal, self.filled = read_file, records, refusal, False
        self._fill, self._trial, self._inference_done, self._lock = fill, trial, False, threading.RLock()

    @property
    def is_view_only(self) -> bool:
        """Whether it is known that no live graph can be made, so that the graph can only be viewed."""
        return self._fill is None

    @property
    def inferred(self) -> bool:
        """Whether all shapes that can be inferred are known."""
        return self.filled or self.is_view_only or self._inference_done

    @property
    def is_importable(self) -> bool:
        return self._trial is None

    def check_importable(self, shapes: bool = False) -> None:
        """Waits for the trial, if the file is not trusted; callable from any thread, and may take long."""
        with self._lock:
            if self._trial is not None:
                (self.read, refusal), self._trial = self._trial(shapes), None
                self._inference_done = shapes
                if refusal is not None:
                    self.fail(refusal)

    def infer(self, graph: Any) -> None:
        """Infers the shapes, once; callable from any thread, and may take long."""
        self.check_importable(shapes=True)
        if not self.inferred:
            with suppress(OpenError):
                self.fill(graph, complete=False)

    def attach_to(self, graph: Any) -> None:
        """Attaches this content to an empty live graph, or to a deferred graph."""
        setattr(graph, _MARK, self)

    def snapshot(self, previous: Any, title: str) -> Any:
        """Returns the snapshot with a title; the previous snapshot if no new shapes are known since."""
        if previous is not None and previous.outputs_of is self.read.outputs_of:
            return previous
        return replace(self.read, title=title)

    def fill(self, graph: Any, complete: bool = True) -> None:
        """Fills the graph, once. If `complete` is not set, stand-ins replace the ops that TensorFlow refuses.

        Raises:
            OpenError: if TensorFlow refuses the graph, now or at an earlier call.
        """
        with self._lock:
            if lazy_graph_of(graph) is not self:
                return
            if not (complete and self.refusal is not None):
                self.check_importable()
            if self._fill is not None and not self.filled and not (complete and self.refusal is not None):
                try:
                    graph = graph.materialize() if isinstance(graph, DeferredGraph) else graph
                    self._fill(graph)
                    self.filled = True
                except OpenError as error:
                    self.fail(error)
            if self.refusal is not None and (complete or not self.filled):
                raise OpenError(self.refusal.request, self.refusal.problem, self.refusal.suggestion) from self.refusal
            if self.refusal is None:
                delattr(materialized_graph(graph), _MARK)

    def fail(self, refusal: OpenError) -> None:
        """Records that no live graph can be made, and the reason."""
        self.refusal, self._fill = refusal, None


def lazy_graph_of(graph: Any) -> LazyGraph | None:
    """Returns the pending content of a live graph; None if the graph is not pending."""
    handle: LazyGraph | None = getattr(materialized_graph(graph), _MARK, None)
    return handle


def materialize(graph: Any, complete: bool = True) -> Any:
    """Returns a live graph with its ops; a deferred or pending graph is made and filled first.

    Args:
        graph: the live graph.
        complete: not with stand-ins for ops that TensorFlow refuses.

    Raises:
        OpenError: if TensorFlow refuses the graph.
    """
    waiting = lazy_graph_of(graph)
    if waiting is not None:
        waiting.fill(graph, complete)
    return materialized_graph(graph)


def is_materialized(graph: Any) -> bool:
    """Returns whether a live graph contains its ops, or stand-ins for them."""
    waiting = lazy_graph_of(graph)
    return waiting is None or waiting.filled
