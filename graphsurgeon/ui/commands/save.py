"""Commands that save the graph as files, pictures and code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from ...errors import PlanError, about, counted, one_or_all
from ...graph.atomic_files import TargetExistsError, ensure_writable, write_atomic
from ...graph.names import tensor_name, tensors_by_key
from ...plan.editor_like import EditorLike, default_ends
from ...view import page_types
from ..render_context import RenderContext
from ..state import State
from .specs import COMMAND_SPECS, Text, choice_of, edit, look, parse_literal

FORMATS: dict[str, tuple[str, str]] = {
    "keras": ("Keras model", ".keras"),
    "saved_model_tf2": ("SavedModel, of a tf.Module", ""),
    "saved_model": ("SavedModel, in the form of TF1", ""),
    "frozen": ("frozen GraphDef: variables become constants", ".pb"),
    "graph_def": ("GraphDef, without values", ".pb"),
    "meta_graph": ("MetaGraph, with its checkpoint", ".meta"),
    "checkpoint": ("checkpoint: values only", ".ckpt"),
    "tflite": ("TFLite model: variables become constants", ".tflite"),
    "picture": ("SVG picture", ".svg"),
    "page": ("HTML page, works without a kernel", ".html"),
}
"""The formats of a save: format -> its label, and its suffix."""
Format = Annotated[str, choice_of(*((name, label) for name, (label, _) in FORMATS.items()))]
_VALUES = choice_of(
    ("current", "current values of the variables"), ("initial", "initial values, if a variable has no current value")
)
IfExists = Annotated[str, choice_of("ask", "replace")]
_SUFFIXES = (".keras", ".pb", ".pbtxt", ".gz", ".meta", ".ckpt", ".tflite", ".svg", ".html")
_WITH_SIGNATURES = ("saved_model", "saved_model_tf2")


@look("list the formats, inputs and outputs for a save", gesture="button")
def save_form(context: RenderContext, state: State) -> tuple[State, page_types.SaveForm]:
    """Returns the form for a save, with the usual format first, and with the inputs and outputs of the signature.

    If a region is marked, these are its inputs and outputs, and only the region is saved.
    """
    editor, marks = context.destination, state.marks
    ends, note = default_ends(editor), ""
    region = context.region(state)[0] if context.is_single_graph and marks.inputs else None
    if region is not None:
        ends = ends.chosen(marks.inputs, marks.outputs)
        part = f"{len(region):,} of {counted(editor.snapshot.size - len(editor.orphans), 'ops')}"
        note = f"Only the marked region is saved: {part}. For the whole graph, clear the boundary"
    stem = os.path.basename(editor.title.rstrip("/")).partition(".")[0] or "graph"
    step_count = len(context.draft(state).steps)
    opened = editor.opened_graph
    usual = "keras" if opened.origin else "saved_model_tf2" if opened.variable_paths else "saved_model"
    fields = COMMAND_SPECS["save"].form(
        path=f"{stem}_saved",
        format=usual,
        signature="serving_default",
        inputs=ends_code(ends.inputs),
        outputs=ends_code(ends.outputs),
    )
    for field in fields:
        if field["name"] == "format":
            field["options"].sort(key=lambda option: option[0] != usual)
    if step_count:
        note = f"The plan, {counted(step_count, 'steps')}, is not applied and will not be saved"
    return state, {"fields": fields, "note": note}


@edit("save the graph, or a picture of it, and check the file", gesture="button")
def save(
    context: RenderContext,
    state: State,
    path: Annotated[Text, "File or folder"],
    format: Annotated[Format, "Format"] = "saved_model",
    signature: Annotated[Text, "Signature", "none"] = "",
    inputs: Annotated[Text, "Inputs", "tensors, or name=tensor"] = "",
    outputs: Annotated[Text, "Outputs", "all"] = "",
    values: Annotated[str, _VALUES, "Values"] = "current",
    if_exists: IfExists = "ask",
) -> tuple[State, page_types.Report]:
    """Writes the graph that plans are applied to, or a picture of it. A file is checked before it gets its name.

    Args:
        path: the new file or folder; the suffix of the format is added if it is missing.
        format: one of `FORMATS`.
        signature: for a SavedModel, the name of its signature.
        inputs, outputs: names of tensors, with commas between them; or ``name=tensor``. Only the ops that the
            outputs need are written. Empty: those of the opened graph, or all.
        values: ``current``, or ``initial`` for variables without a current value.
        if_exists: the rule for an existing file at the path: ``ask``, or ``replace`` it.

    Returns:
        ``lines``, the report of the save; and ``code``, the same call in Python. If the user must confirm first,
        nothing is written, and ``existing`` has the reason.

    Raises:
        PlanError: the format is not known, the graph cannot be saved in this format, or the file cannot be written.
    """
    if format not in FORMATS:
        suggestion = f"Choose one of {', '.join(FORMATS)}"
        raise PlanError(f"save({path!r})", f"format={format!r} is not known", suggestion, "format")
    editor, suffix = context.destination, FORMATS[format][1]
    others = () if format == "keras" else _SUFFIXES
    path = path if path.endswith((suffix, *others)) or not suffix else path + suffix
    more = {"overwrite": True} if if_exists == "replace" else {}
    ends = parse_ends(inputs), parse_ends(outputs)
    for key, names in zip(("inputs", "outputs"), ends, strict=True):
        refuse_unknown(editor, names, f"save({path!r}, {key}={names!r})", key)
    takes, gives = (one_or_all(one) if isinstance(one, list) else one for one in ends)
    options = _save_request(format, signature, takes, gives, values) | more
    try:
        receipt = _write_file(editor, path, format, options)
    except TargetExistsError as error:
        return state, {"title": "Saved", "lines": [], "code": "", "existing": error.problem}
    return state.replace(saved=receipt).with_status(f"saved: {receipt['lines'][0]}"), receipt


def _write_file(editor: EditorLike, path: str, format: str, options: dict[str, Any]) -> page_types.Report:
    """Writes the file; returns the report for the page."""
    if format in ("picture", "page"):
        call = "to_svg" if format == "picture" else "to_html"
        ensure_writable(path, "overwrite" in options, f"save({path!r})")
        text = str(getattr(editor, call)())
        try:
            write_atomic(path, text.encode())
        except OSError as error:
            how = "Choose another path, or free some disk space. The existing files did not change"
            raise PlanError(f"save({path!r})", error.strerror or str(error), how, "path") from error
        code = f"Path({path!r}).write_text(str(ed.{call}()))"
        lines = [f"{path!r}: {FORMATS[format][0]}, {counted(len(text), 'characters')}"]
    else:
        lines = repr(editor.save(path, **options)).split("\n")
        code = f"ed.save({', '.join([repr(path), *(f'{key}={value!r}' for key, value in options.items())])})"
    return {"title": "Saved", "lines": lines, "code": code}


@look("show all applied plans as a script", gesture="button")
def history_code(context: RenderContext, state: State) -> tuple[State, page_types.Code]:
    """Returns all applied plans as one script."""
    return state, {"code": context.destination.to_code()}


def _save_request(format: str, signature: str, inputs: Any, outputs: Any, values: str) -> dict[str, Any]:
    """Returns the arguments of `Editor.save` for a format, a signature, inputs and outputs."""
    out: dict[str, Any] = {"format": "graph_def" if format == "frozen" else format}
    if format == "frozen":
        out["freeze"] = True
    if format in _WITH_SIGNATURES and signature and outputs:
        out["signatures"] = {signature: (inputs, outputs)}
    elif format != "checkpoint":
        out |= {key: value for key, value in (("inputs", inputs), ("outputs", outputs)) if value}
    if values == "initial":
        out["values"] = "initial"
    return out


def parse_ends(text: str) -> list[str] | dict[str, str]:
    """Parses tensors with commas between them, or pairs ``name=tensor``, which become a dict; or a Python list or dict.

    Example:
        >>> parse_ends("x, y:1"), parse_ends("image=x:0")
        (['x:0', 'y:1'], {'image': 'x:0'})
        >>> parse_ends("['x', 'y:1']"), parse_ends("{'image': 'x:0'}")
        (['x:0', 'y:1'], {'image': 'x:0'})
    """
    parsed = parse_literal(text)
    if isinstance(parsed, dict):
        return {str(key): tensor_name(tensor) for key, tensor in parsed.items()}
    if isinstance(parsed, list | tuple):
        return [tensor_name(tensor) for tensor in parsed]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    pairs = [part.partition("=") for part in parts]
    if any(sign for _, sign, _ in pairs):
        return {
            (name if sign else tensor_name(name)).strip(): tensor_name((to or name).strip()) for name, sign, to in pairs
        }
    return [tensor_name(part) for part in parts]


def refuse_unknown(editor: EditorLike, ends: Iterable[str] | Mapping[str, str], request: str, argument: str) -> None:
    """Refuses tensors that a graph does not have.

    Args:
        editor: the editor of the graph.
        ends: the tensors, from `parse_ends`.
        request, argument: the request and its argument, for the message.

    Raises:
        SelectionError: a tensor does not exist.
    """
    with about(argument):
        for tensor in ends.values() if isinstance(ends, Mapping) else ends:
            editor.snapshot.tensor(tensor, request)


def ends_code(ends: Mapping[str, str]) -> str:
    """Returns inputs or outputs as the text of a form."""
    short = tensors_by_key(list(ends.values())) == ends
    return ", ".join(ends.values() if short else [f"{name}={to}" for name, to in ends.items()])
