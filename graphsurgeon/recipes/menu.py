"""The entries of the recipes menu: the label and the arguments of each recipe, and the reason if it cannot apply."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ..editor.editor import Editor
from ..errors import counted
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.recipe_registry import EDITORS, REPORT, Recipe, RecipeParameter
from . import variables
from .batch_norm import fold_batch_norm, settle_batch_norm
from .cut import cut_nms, cut_postprocessing, cut_preprocessing, replace_head
from .input import set_input
from .quantization import insert_after, strip_quantization
from .recompute import recompute
from .signature import add_output, rename, rows, set_signature
from .split_and_merge import merge, split_at
from .strip import for_inference, strip_checks, strip_dropout, strip_identities, strip_training
from .variables import frozen, restore_averages, use_averages

#: Parameters: name, label, kind, hint, choices.
_OUTPUTS = ("outputs", "Outputs", "outputs", "default: outputs of the opened graph")
_INPUTS = ("inputs", "Inputs", "inputs", "default: all placeholders")
_CHECKPOINT = ("checkpoint", "Checkpoint", "text", "such as run/model.ckpt")
_VARIABLES_PARAMETER = (
    "values", "Values", "text", "", (("", "current values"), ("initial", "initial, if a variable has no current value"))
)  # fmt: skip
_MERGE_PARAMETER = (
    ("after", "after: it reads the outputs of this graph"),
    ("beside", "side by side: each keeps its own inputs"),
    ("shared", "shared: inputs of the same name are one"),
)
_STRIP, _ENDS, _VALUES, _PARTS, _QUANTIZE = "Strip", "Inputs and outputs", "Values", "Parts", "Quantization"


def _recipe(function: Callable[..., Any], summary: str, group: str, *fields: Any, **options: Any) -> Recipe:
    """Returns an entry. A field of the form is required if the function has no default for its argument."""
    known, table = inspect.signature(function).parameters, "table_parameter" in options
    parameters = tuple(
        RecipeParameter(name, label, kind, known[name].default is inspect.Parameter.empty and not table, *hint)
        for name, label, kind, *hint in fields
    )
    if "editor_names" in options:
        options["result_kind"] = EDITORS
    return Recipe(function.__name__, summary, function, group, parameters, **options)


def _without(what: str, types: Collection[str]) -> Callable[[Editor], str]:
    """Returns a function that returns why a recipe does not apply to an editor: its graph has no op of some types."""
    return lambda editor: "" if editor.snapshot.type_mask(types).any() else f"the graph has no {what}"


_no_placeholder = _without("placeholder", PLACEHOLDER_TYPES)


def _no_variable(editor: Editor) -> str:
    return "" if editor.snapshot.state.variables else "the graph has no variable"


def rename_checkpoint(editor: Editor, checkpoint: str, path: str, names: Any) -> Any:
    """Writes a checkpoint with other names of variables. The editor is not used."""
    return _CheckpointResult(path, variables.rename_checkpoint(checkpoint, path, names))


class _CheckpointResult(NamedTuple):
    """The names in a written checkpoint. It prints as a line for each name."""

    path: str
    names: dict[str, str]

    def __repr__(self) -> str:
        return "\n".join(
            [f"{self.path!r}: {counted(len(self.names), 'names')}", *(f"  {a} was {b}" for a, b in self.names.items())]
        )


TABLE = (
    _recipe(for_inference, "Prepare for inference", _STRIP, _OUTPUTS, _INPUTS),
    _recipe(strip_training, "Remove training-only ops", _STRIP, _OUTPUTS, _INPUTS),
    _recipe(strip_dropout, "Remove dropout", _STRIP),
    _recipe(strip_checks, "Remove assertions and checks", _STRIP),
    _recipe(strip_identities, "Remove identities", _STRIP, _OUTPUTS),
    _recipe(settle_batch_norm, "Make batch normalization read its averages", _STRIP),
    _recipe(fold_batch_norm, "Fold batch normalization into the weights", _STRIP, _OUTPUTS),
    _recipe(strip_quantization, "Remove FakeQuant", _QUANTIZE),
    _recipe(
        insert_after, "Insert an op after each op of a type", _QUANTIZE,
        ("pattern", "After each", "name", "such as Conv2D"),
        ("op", "Op type to insert", "name", "such as FakeQuantWithMinMaxArgs"),
        ("name", "Name of each", "name", "default: a free name")
    ),
    _recipe(
        set_input, "Change the shape or dtype of an input", _ENDS,
        ("tensor", "Input", "input", "such as image:0"), ("shape", "Shape", "shape", "such as [None, 96, 96, 3]"),
        ("dtype", "Dtype", "text"), _OUTPUTS, unavailable_reason=_no_placeholder
    ),
    _recipe(
        add_output, "Add a named output", _ENDS,
        ("tensor", "Tensor", "tensor", "such as block1/Relu:0"), ("name", "Name", "name", "such as features")
    ),
    _recipe(
        set_signature, "Set the serving signature (new editor)", _ENDS,
        ("outputs", "Outputs", "outputs", "tensors, or name=tensor"), _INPUTS, editor_names=("served",)
    ),
    _recipe(
        cut_preprocessing, "Cut off preprocessing: decode, resize, scale", _ENDS,
        ("patterns", "Patterns", "words", "default: decode, resize, scale, sound"),
        unavailable_reason=_no_placeholder
    ),
    _recipe(
        cut_postprocessing, "Cut off postprocessing: classes, boxes, probabilities", _ENDS,
        ("patterns", "Patterns", "words", "default: best, nms, probabilities")
    ),
    _recipe(cut_nms, "Cut off non-maximum suppression", _ENDS),
    _recipe(
        replace_head, "Replace the head by a dense layer", _ENDS,
        ("units", "Classes", "text", "such as 10"), ("output", "Output", "tensor", "default: the only output"),
        ("name", "Scope", "name", "default: head"), unavailable_reason=_without("dense layer", ("MatMul",))
    ),
    _recipe(
        rename, "Rename inputs, outputs, scopes and variables", _ENDS,
        ("names", "Patterns", "pairs", "such as block*/w=stage*/kernel"), table_parameter="names", table_rows=rows
    ),
    _recipe(use_averages, "Read averaged weights", _VALUES, _OUTPUTS),
    _recipe(
        restore_averages, "Restore averaged weights from a checkpoint", _VALUES,
        _CHECKPOINT, result_kind=REPORT, unavailable_reason=_no_variable
    ),
    _recipe(
        rename_checkpoint, "Write a checkpoint under other names", _VALUES,
        _CHECKPOINT, ("path", "To", "text", "such as new/model.ckpt"),
        ("names", "Names", "pairs", "such as old/*=new/*"), result_kind=REPORT
    ),
    _recipe(
        recompute, "Recompute activations to save memory", _PARTS,
        ("loss", "Loss", "tensor", "such as loss:0"), ("blocks", "Blocks", "words", "such as block1, block2"),
        ("to", "Scope of the copies", "name", "default: recomputed")
    ),
    _recipe(
        frozen, "Freeze: variables become constants (new editor)", _PARTS,
        _OUTPUTS, _INPUTS, _VARIABLES_PARAMETER, editor_names=("frozen",)
    ),
    _recipe(
        split_at, "Split in two (new editors)", _PARTS,
        ("at", "At", "tensors", "such as block1/Relu:0"), _OUTPUTS, _INPUTS, editor_names=("first", "second")
    ),
    _recipe(
        merge, "Merge with another model (new editor)", _PARTS,
        ("other", "With", "editor", "an editor's name, or a file"), ("how", "How", "text", "", _MERGE_PARAMETER),
        ("connections", "Connections", "pairs", "such as features=x"),
        ("names", "Scopes", "words", "default: first, second"), _VARIABLES_PARAMETER, editor_names=("merged",)
    ),
)  # fmt: skip
"""All recipes, in the order of the menu."""
