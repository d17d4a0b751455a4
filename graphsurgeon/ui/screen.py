"""The state of the widget as a plain object, in which every gesture is a method."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from ..errors import LayoutError, SurgeryError, counted
from ..graph.calls import ExpandedGraph
from ..graph.concurrency import gc_paused
from ..graph.graph import Graph
from ..graph.lazy_graph import lazy_graph_of
from ..graph.op_packages import refusal_text
from ..graph.selection import Selection
from ..plan.editor_like import EditorLike, described
from ..plan.plan import Plan
from ..plan.recipe_registry import Recipe
from ..view import page_types
from ..view.first_picture import pinned_ops
from ..view.tree import Tree
from .commands import appearance, boundary, copies, edits, navigation, runs, steps
from .commands import plan as plan_commands
from .commands import recipes as recipe_commands
from .commands import save as save_commands
from .commands import undo as undo_commands
from .commands.specs import COMMAND_SPECS, look
from .commands.undo import history_data, last_applied, undo_data, with_undo_entry
from .page_data import boundary_data, boundary_text, look_data, outline_data, plan_data
from .pane import static_picture
from .render_context import RenderContext
from .state import Facts, NavEntry, State

P = ParamSpec("P")
Result = TypeVar("Result")


@overload
def command(
    function: Callable[Concatenate[RenderContext, State, P], State],
) -> Callable[Concatenate[Screen, P], None]: ...


@overload
def command(
    function: Callable[Concatenate[RenderContext, State, P], tuple[State, Result]],
) -> Callable[Concatenate[Screen, P], Result]: ...


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the method of a screen that applies the function of a command to its state."""
    spec, signature = COMMAND_SPECS[function.__name__], inspect.signature(function)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @functools.wraps(function)
    def method(self: Screen, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(None, None, *args, **kwargs).arguments
        return self._do(function, spec.read(dict(list(arguments.items())[2:])))

    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *list(signature.parameters.values())[2:]]
    )
    method.__qualname__ = f"Screen.{function.__name__}"
    return method


class Screen:
    """The state of a widget: two panes, the selection, the boundary, the plan.

    Each command is a method, which computes a new `state` from the last.

    Args:
        destination: the editor that the plan changes.
        source: the editor whose graph is on the left; by default the destination.
        facts: facts on ops beyond the snapshot.
        recipes: returns the recipes of the menu.

    Attributes:
        state: the whole state, as an immutable value.

    Example:
        ``screen.mark_input("x:0")``, ``screen.mark_output("y:0")``, ``screen.copy("copy")``, ``screen.apply()`` do
        the same as the keys i, o, c and Ctrl+Enter.
    """

    def __init__(
        self,
        destination: EditorLike,
        source: EditorLike | None = None,
        *,
        facts: Facts,
        recipes: Callable[[], Iterable[Recipe]] = tuple,
    ) -> None:
        self.destination = destination
        self.source = source or destination
        self.state = self._with_refusal(State())
        self.lock = threading.RLock()
        self._context = RenderContext(destination, self.source, facts, recipes)
        self._active_thread = 0
        self._callbacks: list[Callable[[], None]] = []
        self._progress_callbacks: list[Callable[[str], None]] = []
        self._context.progress = self._progress
        for editor in (destination,) if self.is_single_graph else (destination, self.source):
            editor.changes.watch(self.graph_changed)

    if TYPE_CHECKING:

        def __getattr__(self, verb: str) -> Callable[..., Any]: ...

    # -- properties --------------------------------------------------------------------------

    @property
    def is_single_graph(self) -> bool:
        """True if source and destination are one graph."""
        return self.source is self.destination

    @property
    def selection(self) -> Selection:
        """The ops of all selected boxes; the region, if a boundary is marked and nothing is selected.

        If ops are inside calls, the selection is of the graph with these calls unfolded.
        """
        return self._context.selection(self.state)

    @property
    def region(self) -> Selection | None:
        """The ops between the marked boundary tensors, or None. It follows changes of the graph."""
        return self._context.region(self.state)[0]

    @property
    def draft(self) -> Plan:
        """The plan being made."""
        with self.lock:
            draft = self._context.draft(self.state)
            if draft is not self.state.draft:
                self.state = self.state.replace(draft=draft)
            return draft

    @property
    def unfolded(self) -> frozenset[str]:
        """Fold keys that are open in the source pane."""
        return self._current_state().view.unfolded or frozenset()

    @property
    def direction(self) -> str:
        """The direction of pictures: TB, LR or auto."""
        return self.state.direction

    @property
    def views(self) -> dict[str, NavEntry]:
        """The saved views by name."""
        return dict(self.state.views)

    # -- running verbs ----------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Locks the screen while a verb of the page runs; `cancel` can stop the verb."""
        with self.lock:
            self._context.stop.clear()
            try:
                yield
            finally:
                self._context.stop.clear()

    def cancel(self) -> None:
        """Stops the current layout or run; pictures do not change, and the finished part of a run stays."""
        if self.lock.acquire(blocking=False):
            try:
                self._set_state(self.state.with_status(""))
            finally:
                self.lock.release()
        else:
            self._context.stop.set()  # the running verb reports that it was stopped

    def _do(self, act: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Runs a verb and sets the new state. If the verb fails, the state stays.

        A lock allows a cell to call verbs while another thread runs verbs of the page.
        """
        with self.lock:
            outer, self._active_thread = self._active_thread, threading.get_ident()
            try:
                before = self._current_state()
                outcome = act(self._context, before, **arguments)
            finally:
                self._active_thread = outer
            state, answer = outcome if isinstance(outcome, tuple) else (outcome, None)
            self._set_state(self._context.apply_renames(with_undo_entry(self._context, before, state, act.__name__)))
            return answer

    def restore(self, state: State) -> None:
        """Sets another state, for example the state before a kernel died.

        Args:
            state: the new state, with the current names of ops.
        """
        with self.lock:
            self._set_state(state.replace(op_names=self._context.apply_renames(State()).op_names))

    def _set_state(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self.graph_changed()

    def _current_state(self) -> State:
        """Returns the state, updated for the current graphs."""
        with self.lock, gc_paused():  # a large graph would cause a full garbage collection
            self.state = self._context.current_state(self.state)
            return self.state

    # -- updating the page ----------------------------------------------------------------------------

    def on_change(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each change.

        Args:
            callback: a function without arguments; its result is not used.
        """
        self._callbacks.append(callback)

    def on_progress(self, callback: Callable[[str], None]) -> None:
        """Calls `callback` repeatedly with a progress text during long work.

        Args:
            callback: a function of one text.
        """
        self._progress_callbacks.append(callback)

    def _progress(self, text: str) -> None:
        for callback in list(self._progress_callbacks):
            callback(text)

    @property
    def inferred(self) -> bool:
        """Whether the shapes that TensorFlow can infer are available; a file contains few shapes."""
        waiting = [lazy_graph_of(subject.snapshot.owner) for subject in (self.destination, self.source)]
        return all(one is None or one.inferred for one in waiting)

    def infer(self) -> None:
        """Infers the shapes of files; callable from any thread. `state` lists the failures."""
        if self.inferred:
            return
        for subject in (self.destination, self.source):
            owner = subject.snapshot.owner
            if (waiting := lazy_graph_of(owner)) is not None:
                waiting.infer(owner)
        with self.lock:
            self.state = self._with_refusal(self.state)
        self.graph_changed()

    def _with_refusal(self, state: State) -> State:
        """Returns the state with a warning if TensorFlow refuses a graph."""
        refusals = [text for one in (self.destination, self.source) if (text := refusal_text(one.snapshot))]
        return state.with_status(refusals[0], "warn") if refusals else state

    def graph_changed(self) -> None:
        """Calls the callbacks of `on_change`. An editor calls this after an apply, undo or redo."""
        if self._active_thread != threading.get_ident():  # during a verb, callbacks are called once, at its end
            for callback in list(self._callbacks):
                callback()

    @gc_paused()
    def traits(self) -> page_types.State:
        """Returns everything the page shows; callable from any thread."""
        with self.lock:
            context, state = self._context, self._current_state()
            draft = context.draft(state)
            status: page_types.Status = {"text": state.status.text, "level": state.status.level}
            scenes: page_types.Scenes = {"source": None, "destination": None}
            for pane in ("source", "destination"):
                if pane == "destination" and self.is_single_graph and not draft.steps:
                    context.clear_layout(pane)
                    continue
                try:
                    scenes[pane] = context.draw(state, pane)
                except SurgeryError as error:
                    scenes[pane] = context.panes[pane].placed
                    status = {"text": str(error), "level": "error"}
            region, problem = context.region(state)
            return {
                "scenes": scenes,
                "titles": {
                    "source": self.source.title,
                    "destination": self.destination.title + (" after the plan" if draft.steps else ""),
                    "model": context.model_text,
                },
                "selected": list(state.view.selected),
                "boundary": {
                    **boundary_data(
                        context.around(self.source.snapshot, (*state.marks.inputs, *state.marks.outputs)).graph,
                        state.marks,
                        region,
                        problem,
                        context.panes["source"].scene,
                        () if region is None else context.visible_positions(state, region),
                    ),
                    "is_reversed": context.is_reversed(state),
                },
                "plan": {
                    **plan_data(draft, last_applied(context), self.source.snapshot),
                    "same": self.is_single_graph,
                    "saved": state.saved,
                    "history": history_data(context),
                },
                "status": status,
                "outline": outline_data(context.tree(state, "source", state.view.rows), state.view.rows),
                "look": look_data(state),
                "views": {
                    "back": len(state.view.back),
                    "forward": len(state.view.forward),
                    **undo_data(context, state),
                    "saved": list(state.views),
                    "signatures": self.source.opened_graph.serving.names,
                    "signature": self.source.opened_graph.serving.opened_signature.removeprefix("function "),
                },
                "run": state.run.report_data if state.run is not None else {},
                "inferred": self.inferred,
                "theme": "auto",
            }

    def svg(self) -> str:
        """Returns the static picture of the screen, with both panes if two are shown.

        If it cannot be laid out, the picture shows the reason as text.
        """
        from ..view.svg import panes, to_svg, words

        traits, pictures = self.traits(), []
        titles, scenes = traits["titles"], traits["scenes"]
        hidden = {"before": "destination", "after": "source"}.get(
            self.state.plan_view if self.is_single_graph else "both"
        )
        for pane, title, scene in (
            ("source", titles["source"], scenes["source"]),
            ("destination", titles["destination"], scenes["destination"]),
        ):
            if scene is None or (pane == hidden and self.draft.steps):
                continue
            selected, boundary = (traits["selected"], traits["boundary"]) if pane == "source" else ([], None)
            pictures.append((title, to_svg(scene, title=title, selected=selected, boundary=boundary)))
        if not pictures:
            return words(titles["source"], traits["status"]["text"])
        return pictures[0][1] if len(pictures) == 1 else panes(pictures)

    def svg_of(self, open_folds: frozenset[str]) -> str:
        """Returns a static picture in which only these scopes, series and calls are open. The screen does not change.

        Args:
            open_folds: keys of the open folds, scopes with their ``/``.
        """
        tree = self.tree_of(open_folds)
        return static_picture(tree, open_folds, self.direction, pinned_ops(tree, described(self.source).ends))

    @property
    def whole(self) -> Graph:
        """The source with all calls unfolded, up to a maximum size."""
        return self._context.calls_of(self.source.snapshot).searchable.graph

    def around(self, names: Iterable[str]) -> Graph:
        """Returns the source with all calls unfolded that contain ops, scopes or tensors of these names.

        Args:
            names: names of ops, scopes and tensors.
        """
        return self._context.around(self.source.snapshot, names).graph

    def expanded(self, open_folds: frozenset[str]) -> ExpandedGraph:
        """Returns the graph of the source with the calls among these fold keys unfolded.

        Args:
            open_folds: keys of the open folds.
        """
        return self._context.expanded(self.source, open_folds)

    def tree_of(self, open_folds: frozenset[str]) -> Tree:
        """Returns the tree of the source with the calls among these fold keys unfolded.

        Args:
            open_folds: keys of the open folds.
        """
        return self._context.tree_of(self.state, self.expanded(open_folds))

    def describe(self) -> str:
        """Returns the state in a few lines of text; callable from any thread."""
        with self.lock:
            state = self._current_state()
            try:
                size_text = counted(len(self._context.draw(state, "source")["boxes"]), "boxes")
            except LayoutError as error:
                size_text = f"the graph cannot be drawn: {error}"
            lines = [f"{self.source.title}: {counted(self.source.snapshot.size, 'ops')}, {size_text}"]
            region = self.region
            if region is not None:
                lines.append(boundary_text(state.marks, region))
            if self.draft.steps:
                lines.append(str(self.draft))
            return "\n".join(lines)

    # -- commands ---------------------------------------------------------------------------------

    select = command(navigation.select)
    unfold = command(navigation.unfold)
    fold = command(navigation.fold)
    fold_all = command(navigation.fold_all)
    reveal = command(navigation.reveal)
    show_signature = command(navigation.show_signature)
    outline_open = command(navigation.outline_open)
    outline_close = command(navigation.outline_close)
    details = command(navigation.details)
    edge_tensors = command(navigation.edge_tensors)
    value = command(navigation.value)
    find = command(navigation.find)
    set_direction = command(navigation.set_direction)
    set_depth = command(navigation.set_depth)
    set_budget = command(navigation.set_budget)
    back = command(navigation.back)
    forward = command(navigation.forward)
    save_view = command(navigation.save_view)
    show_view = command(navigation.show_view)
    delete_view = command(navigation.delete_view)
    set_plan_view = command(navigation.set_plan_view)
    attributes = command(navigation.attributes)
    op_types = command(navigation.op_types)
    show_helpers = command(appearance.show_helpers)
    hide_ops = command(appearance.hide_ops)
    show_training = command(appearance.show_training)
    paint = command(appearance.paint)
    paint_file = command(appearance.paint_file)
    fade = command(appearance.fade)
    run_form = command(runs.run_form)
    trust = command(runs.trust)
    run = command(runs.run)
    fetch = command(runs.fetch)
    clear_run = command(runs.clear_run)
    select_between = command(boundary.select_between)
    show_path = command(boundary.show_path)
    mark_input = command(boundary.mark_input)
    mark_output = command(boundary.mark_output)
    unmark = command(boundary.unmark)
    clear_boundary = command(boundary.clear_boundary)
    mark_boundary = command(boundary.mark_boundary)
    set_boundary = command(boundary.set_boundary)
    suggest_boundaries = command(boundary.suggest_boundaries)
    add_leak = command(boundary.add_leak)
    include = command(boundary.include)
    swap_boundary = command(boundary.swap_boundary)
    copy = command(plan_commands.copy)
    connect = command(plan_commands.connect)
    adapt = command(plan_commands.adapt)
    apply_fix = command(plan_commands.apply_fix)
    set_policy = command(plan_commands.set_policy)
    set_input = command(plan_commands.set_input)
    set_scope = command(plan_commands.set_scope)
    apply = command(plan_commands.apply)
    reroute = command(edits.reroute)
    swap = command(edits.swap)
    bypass = command(edits.bypass)
    detach = command(edits.detach)
    insert = command(edits.insert)
    remove = command(edits.remove)
    set_attr = command(edits.set_attr)
    set_device = command(edits.set_device)
    add_control = command(edits.add_control)
    remove_control = command(edits.remove_control)
    reroute_control = command(edits.reroute_control)
    rename = command(edits.rename)
    collapse = command(edits.collapse)
    inline = command(edits.inline)
    unroll = command(edits.unroll)
    resolve_condition = command(edits.resolve_condition)
    on_copies = command(edits.on_copies)
    find_similar = command(edits.find_similar)
    replace = command(edits.replace)
    copy_to_clipboard = command(copies.copy_to_clipboard)
    cut = command(copies.cut)
    paste = command(copies.paste)
    duplicate = command(copies.duplicate)
    insert_copy = command(copies.insert_copy)
    copy_and_connect = command(copies.copy_and_connect)
    input_candidates = command(copies.input_candidates)
    adapters = command(copies.adapters)
    remove_step = command(steps.remove_step)
    move_step = command(steps.move_step)
    mute_step = command(steps.mute_step)
    step_form = command(steps.step_form)
    edit_step = command(steps.edit_step)
    save_form = command(save_commands.save_form)
    save = command(save_commands.save)
    history_code = command(save_commands.history_code)
    recipes = command(recipe_commands.recipes)
    run_recipe = command(recipe_commands.run_recipe)
    check = command(recipe_commands.check)
    undo = command(undo_commands.undo)
    redo = command(undo_commands.redo)
    go_to_step = command(undo_commands.go_to_step)


look("cancel a layout", gesture="button")(Screen.cancel)
look("infer the shapes of a file with TensorFlow", gesture="none: happens after a second")(Screen.infer)
