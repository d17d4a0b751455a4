"""The Jupyter widget: shows the state of a screen and forwards the commands of the page."""

from __future__ import annotations

import contextvars
import importlib
import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from graphsurgeon.errors import SurgeryError
from graphsurgeon.ui.commands.specs import COMMAND_SPECS
from graphsurgeon.ui.pane import picture_html
from graphsurgeon.ui.screen import Screen

from .messages import VERSION, Request, SerialExecutor, answer, execute, parse, parts, refusal

_STATIC = Path(__file__).parent / "static"
_VIEW = "application/vnd.jupyter.widget-view+json"
_STATIC_NOTE = (
    "<p>This is a static picture. Run the cell in JupyterLab or Notebook 7, with the package <code>anywidget</code> "
    "installed, to click in it. Without the widget, each gesture is a method of <code>ed.screen</code>.</p>"
)
"""The sentence below the static picture."""
_OUTPUT = ":is(.jp-OutputArea-child, .output_container)"
"""CSS selector of an output of a cell, in JupyterLab, Notebook 7, nbconvert pages and VS Code."""
_HIDING = (
    "<style data-graphsurgeon>"
    f"{_OUTPUT}:has(style[data-graphsurgeon]):has(~ {_OUTPUT} .gs),"
    f"{_OUTPUT}:has(style[data-graphsurgeon]) + {_OUTPUT}:has(> .jupyter-widgets):not(:has(> .jupyter-widgets > *))"
    "{display:none !important}</style>"
)
"""Hides the static picture if the cell has a live view, else the error message of the missing view."""
_PUSH_LOCK = threading.Lock()
"""Shapes are inferred in separate processes; this lock runs them one after another."""


def enable_in_colab() -> None:
    """Enables third-party widgets in Colab, which are off by default; elsewhere, does nothing."""
    try:
        output = importlib.import_module("google.colab.output")
    except ImportError:
        return
    output.enable_custom_widget_manager()


def _trait_value(trait: Any) -> Any:
    """Marks a trait that only Python sets."""
    return trait.tag(sync=True, echo_update=False)


def _scene_texts(scenes: Any, _widget: Any) -> dict[str, str]:
    """Returns scenes as JSON texts, which Jupyter passes on faster than objects with thousands of values."""
    return {pane: json.dumps(scene, separators=(",", ":")) for pane, scene in scenes.items()}


class GraphWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """The interactive picture of a screen.

    Args:
        screen: the screen with the state and the verbs.

    Attributes:
        last_error: the last exception a verb raised, with its traceback; None if there was no exception.

    Example:
        >>> widget = GraphWidget(screen)                                 # doctest: +SKIP
        >>> widget.simulate("mark_input", tensor="conv0:0")["ok"]        # doctest: +SKIP
        True
    """

    # As text: for a file, anywidget would keep references to all widgets, and so to their graphs.
    _esm = (_STATIC / "widget.js").read_text(encoding="utf-8")
    _css = (_STATIC / "widget.css").read_text(encoding="utf-8")

    protocol = _trait_value(traitlets.Int(VERSION))
    scenes = _trait_value(traitlets.Dict()).tag(to_json=_scene_texts)
    titles = _trait_value(traitlets.Dict())
    selected = _trait_value(traitlets.List())
    boundary = _trait_value(traitlets.Dict())
    plan = _trait_value(traitlets.Dict())
    status = _trait_value(traitlets.Dict())
    outline = _trait_value(traitlets.Dict())
    views = _trait_value(traitlets.Dict())
    look = _trait_value(traitlets.Dict())
    run = _trait_value(traitlets.Dict())
    inferred = _trait_value(traitlets.Bool(True))
    theme = _trait_value(traitlets.Unicode("auto"))

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.last_error: BaseException | None = None
        self._lock = threading.Lock()
        self._pushing = self._stale = False
        self._executor = SerialExecutor()
        super().__init__(**screen.traits())
        self.on_msg(self._on_message)
        screen.on_change(self.push)
        screen.on_progress(self._progress)

    def push(self) -> None:
        """Sends the screen's state to the page, once for each burst of changes; callable from any thread."""
        with self._lock:
            self._stale = True
            if self._pushing:
                return
            self._pushing = True
        # no lock is held during a call of the screen, which may hold its own lock
        while True:
            with self._lock:
                if not self._stale:
                    self._pushing = False
                    return
                self._stale = False
            try:
                state = self._screen.traits()
                with self.hold_sync():
                    for name, value in state.items():
                        setattr(self, name, value)
            except Exception as error:
                self._keep(error, "show the state")

    def _progress(self, text: str) -> None:
        self.status = {"text": text, "level": "busy"}

    def simulate(self, verb: str, **args: Any) -> dict[str, Any]:
        """Sends `verb` through the handler of the page's messages, and returns the answer.

        Example:
            >>> widget.simulate("select", names=["conv0"], mode="set")        # doctest: +SKIP
            {'v': 1, 'id': 1, 'ok': True, 'result': None}
        """
        message = {"v": VERSION, "id": 1, "verb": verb, "args": args}
        return self._on_message(self, message, [], send=False)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any, send: bool = True) -> dict[str, Any]:
        """Runs the verb of a message and sends the answer; errors are part of the answer.

        A verb that changes no graph and no plan may run on another thread, so that the kernel can go on.
        `SerialExecutor` keeps the order of such verbs.
        """
        try:
            request = parse(message)
        except Exception as error:
            return self._reply(self._refusal(getattr(error, "id", 0), error, "a message of the page"), send)
        if request.verb == "cancel":
            self._screen.cancel()
            return self._reply(answer(request.id, None), send)
        if request.verb == "infer":  # takes long, parallel to everything else
            if send:
                here = contextvars.copy_context()
                threading.Thread(target=here.run, args=(self._infer,), name="graphsurgeon-shapes", daemon=True).start()
            else:
                self._infer()
            return self._reply(answer(request.id, None), send)
        if send and COMMAND_SPECS[request.verb].read_only:
            self._executor.submit(lambda: self._reply(self._execute(request)))
            return {}
        self._executor.wait()
        return self._reply(self._execute(request), send)

    def _execute(self, request: Request) -> dict[str, Any]:
        try:
            return execute(self._screen, request)
        except Exception as error:
            return self._refusal(request.id, error, request.verb)
        finally:
            if self.status.get("level") == "busy":  # the work that it reports is over
                self.status = asdict(self._screen.state.status)

    def _refusal(self, id: int, error: Exception, request: str) -> dict[str, Any]:
        if request in COMMAND_SPECS and COMMAND_SPECS[request].is_query:  # only the caller needs the error
            self.last_error = error
        else:
            self._keep(error, request)
        return refusal(id, error, request)

    def _infer(self) -> None:
        with _PUSH_LOCK:
            try:
                if self.comm is not None:
                    self._screen.infer()
            except Exception as error:
                self._keep(error, "infer")

    def close(self) -> None:
        """Closes the widget."""
        self.layout.close()
        super().close()

    def _reply(self, reply: dict[str, Any], send: bool = True) -> dict[str, Any]:
        if send:
            self.send(reply)
        return reply

    def _keep(self, error: Exception, request: str) -> None:
        """Keeps an error and shows it in the status line."""
        self.last_error = error
        error_parts = parts(error, request)
        text = str(SurgeryError(*(error_parts[key] for key in ("request", "problem", "suggestion")))).replace("\n", " ")
        self.status = {"text": text, "level": "error"}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Returns the live view and the static pictures as one output, for front ends without `_ipython_display_`."""
        enable_in_colab()
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, **self._pictures()}, metadata

    def _ipython_display_(self) -> None:
        """Displays the static picture and the live view, as two outputs.

        A notebook does not save live views by default. When it is opened again without the kernel, the view is replaced
        by an error message. If both were one output, JupyterLab would show only the error. As two outputs, the picture
        remains.
        """
        from IPython.display import publish_display_data

        enable_in_colab()
        bundle = super()._repr_mimebundle_() if self.comm is not None else None
        pictures = self._pictures()
        pictures["text/html"] += _HIDING
        publish_display_data(pictures)
        if bundle is not None:
            publish_display_data({_VIEW: bundle[0][_VIEW]})

    def _pictures(self) -> dict[str, str]:
        """Returns the picture for viewers without a live view, by MIME type."""
        picture, text = self._screen.svg(), self._screen.describe()
        html = picture_html(picture, text) + _STATIC_NOTE
        return {"text/html": html, "image/svg+xml": picture, "text/plain": text}
