"""Commands that run recipes with a preview, and that check a graph for a target."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from ...errors import PlanError, SurgeryError, counted, few, one_of, one_or_all
from ...graph.conversion_verdict import TARGETS
from ...graph.names import free_name
from ...plan.editor_like import EditorLike, default_ends
from ...plan.recipe_registry import EDITORS, PLAN, Recipe, RecipeParameter
from ...view import page_types
from ...view.paint import Paint
from ..render_context import RenderContext
from ..state import State
from .plan import with_plan
from .save import ends_code, parse_ends, refuse_unknown
from .specs import (
    TEXT,
    YES_OR_NO,
    FeedTexts,
    FieldType,
    Text,
    choice_of,
    edit,
    look,
    parse_literal,
    parse_names,
)
from .steps import ONE_NAME, TENSOR, TENSORS

Target = Annotated[str, choice_of(*TARGETS)]
_VERIFY = replace(YES_OR_NO, options=(("no", "report only"), ("yes", "run the model and compare with the graph")))


def _pairs(text: str) -> dict[str, str]:
    """Parses pairs ``old=new`` with commas or line breaks between them, or a Python dict."""
    parsed = parse_literal(text)
    if not isinstance(parsed, dict):
        parts = [part.partition("=") for part in text.replace("\n", ",").split(",") if part.strip()]
        parsed = {old.strip(): new.strip() for old, _, new in parts}
    if not parsed or not all(isinstance(one, str) and one for pair in parsed.items() for one in pair):
        raise ValueError(text)
    return parsed


def _shape(text: str) -> list[int | None]:
    """Parses a Python list of sizes, with None for a size that is not fixed."""
    parsed = parse_literal(text)
    if not isinstance(parsed, list | tuple) or any(type(size) not in (int, type(None)) for size in parsed):
        raise ValueError(text)
    return list(parsed)


#: Kind of an argument in the table of recipes -> how it is typed in a form.
KINDS: dict[str, FieldType] = {
    "inputs": FieldType(TENSORS.description, parse=parse_ends),
    "outputs": FieldType(TENSORS.description, parse=parse_ends),
    "input": TENSOR,
    "tensor": TENSOR,
    "tensors": FieldType(TENSORS.description, parse=lambda text: list(TENSORS.parse(text))),
    "name": ONE_NAME,
    "text": TEXT,
    "words": FieldType("names, with commas between them", parse=parse_names),
    "pairs": FieldType("pairs of names such as old=new, with commas between them", parse=_pairs),
    "shape": FieldType("a shape such as [None, 224, 224, 3], with None for an unknown size", parse=_shape),
    "editor": FieldType(
        "the name of an editor in the notebook, or a file",
        parse=lambda text: vars(sys.modules["__main__"]).get(text, text),
    ),
}
#: Kinds whose text may contain ``name=``.
_PAIRED = ("inputs", "outputs", "pairs")
#: The prefix of the names of fields for new names; the old name follows.
_ROW = "row:"
#: The maximum number of rows of a table on screen. The field of its argument accepts any name.
_ROWS = 60
#: In larger graphs, recipes are not tried before the menu opens. A recipe then only reports a problem if chosen.
_MAX_OPS = 20_000


@look("list the recipes, and why some do not apply", gesture="button")
def recipes(context: RenderContext, state: State) -> tuple[State, list[page_types.RecipeEntry]]:
    """Returns the recipes, in the order of the menu.

    Returns:
        for each recipe its ``name``, its label in ``does``, a description in ``about``, and its ``group``. ``off`` is
        the reason if it does not apply, else empty. ``plans`` is true if it adds to the plan, false if it acts at once.
        ``form`` has ``name``, ``label``, ``value`` and ``hint`` of each argument, and ``options`` with their texts if
        there are few choices.
    """
    thing, ends, all_recipes = _recipe_subject(context, state), _ends(context), context.recipes.values()
    off = [_unavailable(context, state, recipe, thing, ends["outputs"]) for recipe in all_recipes]
    return state, [
        _recipe_data(recipe, context.destination, ends, why) for recipe, why in zip(all_recipes, off, strict=True)
    ]


def _recipe_data(
    recipe: Recipe, editor: EditorLike, ends: Mapping[str, Any], disabled_reason: str
) -> page_types.RecipeEntry:
    rows = recipe.table_rows(editor)
    more = f" (below: {_ROWS} of {counted(len(rows), 'names')})" if len(rows) > _ROWS else ""
    form = list[page_types.Field]()
    for wish in recipe.parameters:
        label = wish.label + more * (wish.name == recipe.table_parameter)
        hint = wish.hint or ("" if wish.required else "as it is")
        if wish.kind == "input" and ends["inputs"]:
            hint = few(ends["inputs"].values())
        form.append(_field_type(wish).field(wish.name, label, _with_defaults(wish, ends), hint))
    form += [TEXT.field(_ROW + old, old, old, "as it is") for old in rows[:_ROWS]]
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "description": recipe.description,
        "group": recipe.group,
        "unavailable_reason": disabled_reason,
        "adds_steps": recipe.result_kind == PLAN,
        "form": form,
    }


def _field_type(parameter: RecipeParameter) -> FieldType:
    return choice_of(*parameter.choices) if parameter.choices else KINDS[parameter.kind]


def _with_defaults(parameter: RecipeParameter, ends: Mapping[str, Mapping[str, str]]) -> str:
    """Returns the default text of a field: the outputs of the graph, or its input if it has only one."""
    if parameter.kind == "input":
        return next(iter(ends["inputs"].values())) if len(ends["inputs"]) == 1 else ""
    return ends_code(ends["outputs"]) if parameter.name == "outputs" and parameter.kind in ends else ""


def _why_wait(context: RenderContext, state: State, recipe: Recipe) -> str:
    """Returns the reason if a recipe must wait until the plan is applied; else empty."""
    steps = len(context.draft(state).steps)
    if not steps or recipe.result_kind == PLAN:
        return ""
    return f"it starts from the current graph, without the {counted(steps, 'steps')} of the plan"


def _unavailable(context: RenderContext, state: State, recipe: Recipe, obj: Any, outputs: Mapping[str, str]) -> str:
    """Returns the reason if a recipe does not apply, else empty. If needed, the recipe is tried, without effect."""
    off = recipe.unavailable_reason(context.destination) or _why_wait(context, state, recipe)
    if off or not recipe.has_trial or context.destination.snapshot.size > _MAX_OPS:
        return off
    try:
        recipe.run(obj, {"outputs": list(outputs.values())})
    except SurgeryError as error:
        return error.problem
    return ""


@edit("run a recipe", gesture="menu")
def run_recipe(
    context: RenderContext, state: State, name: Text, values: FeedTexts | None = None
) -> tuple[State, page_types.Line]:
    """Runs a recipe: it adds steps to the plan, or makes new editors and assigns them to variables of the notebook.

    Args:
        name: the name of the recipe.
        values: name of a field of the form -> the typed text; other fields have their defaults.

    Returns:
        ``line``, the result.

    Raises:
        PlanError: if the recipe does not exist, an argument is missing, it does not apply, or its steps cannot be
            carried out.
    """
    request = f"run_recipe({name!r})"
    if name not in context.recipes:
        raise PlanError(request, "no recipe has this name", one_of(name, context.recipes))
    spec = context.recipes[name]
    arguments = _parse_values(spec, context.destination, values or {}, request)
    editor_words = {
        wish.name: (values or {}).get(wish.name, "").strip() for wish in spec.parameters if wish.kind == "editor"
    }
    words = [f"{key}={editor_words.get(key) if not isinstance(value, str) and key in editor_words else repr(value)}"
             for key, value in arguments.items()]  # fmt: skip
    code = f"gs.recipes.{name}({', '.join(['ed', *words])})"
    if spec.result_kind == PLAN:
        plan, draft = spec.run(_recipe_subject(context, state), arguments), context.draft(state)
        old_faults = draft.check() if draft.steps else ()
        for fault in plan.check():
            if fault not in old_faults and not fault.fixes:  # the plan has buttons for errors with a fix
                raise PlanError(request, fault.problem, fault.suggestion)
        steps = counted(len(plan.steps) - len(draft.steps), "steps")
        state = with_plan(context, state, plan, f"{name}: {steps} in the plan")
        return state, {"line": state.status.text}
    if problem := _why_wait(context, state, spec):
        raise PlanError(request, problem, "Apply the plan first, or undo it")
    context.progress(f"{spec.summary} …")
    result = spec.run(context.destination, arguments)
    if spec.result_kind == EDITORS:
        lines = _keep_editors(spec, result)
        message, code = "; ".join(lines), f"{', '.join(line.partition(':')[0] for line in lines)} = {code}"
    else:
        lines = repr(result).split("\n")
        message = f"{name}: {lines[0]}"
    receipt: page_types.Report = {"title": "Recipe", "lines": lines, "code": code}
    return state.replace(saved=receipt).with_status(message), {"line": lines[0]}


@look("check whether the graph converts to a target", gesture="menu")
def check(
    context: RenderContext,
    state: State,
    target: Target,
    outputs: Annotated[Text, "Outputs", "default: outputs of the opened graph"] = "",
    inputs: Annotated[Text, "Inputs", "default: all placeholders"] = "",
    verify: Annotated[bool, _VERIFY, "If it converts"] = False,
) -> tuple[State, page_types.Report]:
    """Checks whether the graph converts to a target, with the target's converter, and colors the ops that prevent it.

    Args:
        target: ``tflite`` or ``tfjs``.
        outputs: the output tensors, with commas between them; empty for those of the opened graph, or all.
        inputs: the tensors to feed; empty for the placeholders.
        verify: whether to run the converted model and compare it with the graph.

    Returns:
        ``lines``, the report; and ``code``, the same call in Python.
    """
    ends = {key: parse_ends(text) for key, text in (("outputs", outputs), ("inputs", inputs)) if text.strip()}
    arguments = {key: list(one.values()) if isinstance(one, dict) else one for key, one in ends.items()}
    for key, names in arguments.items():
        refuse_unknown(context.destination, names, f"check({target!r}, {key}={names!r})", key)
    context.progress(f"running the converter of {TARGETS[target]} …")
    report = context.destination.check(target, **arguments, verify=verify)
    more = [f"{key}={one_or_all(names)!r}" for key, names in arguments.items()] + ["verify=True"] * verify
    lines = str(report).split("\n")
    receipt: page_types.Report = {
        "title": "Check",
        "lines": lines,
        "code": f"ed.check({', '.join([repr(target), *more])})",
    }
    painted = Paint("words", report.kinds, TARGETS[target]) if report.kinds and context.is_single_graph else state.paint
    state = state.replace(saved=receipt, paint=painted, faded=())
    return state.with_status(lines[0], "warn" if report else "info"), receipt


def _recipe_subject(context: RenderContext, state: State) -> Any:
    """Returns the subject of a recipe: the plan if it has steps, else the editor."""
    draft = context.draft(state)
    return draft if draft.steps else context.destination


def _ends(context: RenderContext) -> dict[str, dict[str, str]]:
    """Returns the inputs and outputs of the graph that are tensors."""
    graph, ends = context.destination.snapshot, default_ends(context.destination)
    return {
        word: {key: name for key, name in side.items() if graph.outputs(graph.tensor(name)[0])}
        for word, side in (("inputs", ends.inputs), ("outputs", ends.outputs))
    }


def _parse_values(spec: Recipe, editor: EditorLike, values: Mapping[str, str], request: str) -> dict[str, Any]:
    """Returns the values of the typed texts.

    Raises:
        PlanError: an argument does not exist or is missing, or a text is not valid for its argument.
    """
    wishes: dict[str, RecipeParameter] = {wish.name: wish for wish in spec.parameters}
    rows = {f"{_ROW}{old}": old for old in spec.table_rows(editor)}
    for name in values:
        if name not in wishes and name not in rows:
            raise PlanError(request, f"it has no argument {name!r}", one_of(name, wishes))
    out: dict[str, Any] = {}
    for name, wish in wishes.items():
        text = _plain(wish, values.get(name, "").strip())
        kind = _field_type(wish)
        if not text:
            if wish.required:
                raise PlanError(f"{request[:-1]}, {name}='')", "a value is required", f"Type {kind.description}", name)
            continue
        out[name] = kind.read_field(name, text, request)
    renamed = {old: new for key, old in rows.items() if (new := values.get(key, "").strip()) not in ("", old)}
    if spec.table_parameter:
        out[spec.table_parameter] = {**out.get(spec.table_parameter, {}), **renamed}
    return out


def _plain(parameter: RecipeParameter, text: str) -> str:
    """Returns the value part of a typed text: ``uint8`` for ``dtype='uint8'``."""
    name, sign, rest = (part.strip() for part in text.partition("="))
    paired = (
        parameter.kind in _PAIRED and parse_literal(rest) == rest
    )  # the name of a pair may be the name of the field
    bare = rest if sign and name == parameter.name and not paired else text
    parsed = parse_literal(bare)
    return parsed if isinstance(parsed, str) else bare


def _keep_editors(spec: Recipe, result: Any) -> list[str]:
    """Assigns new editors to variables of the notebook; returns a line of text for each."""
    notebook, lines = vars(sys.modules["__main__"]), []
    for wish, editor in zip(spec.editor_names, result if isinstance(result, tuple) else (result,), strict=True):
        name = free_name(wish, notebook.__contains__)
        notebook[name] = editor
        lines.append(f"{name}: {counted(editor.snapshot.size, 'ops')}; type {name} in a cell to open it")
    return lines
