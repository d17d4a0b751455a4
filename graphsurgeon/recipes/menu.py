"""The entries of the recipes menu: the label and the arguments of each recipe, and the reason if it cannot apply."""

from __future__ import annotations

from typing import Any

from ..editor.editor import Editor
from ..errors import counted
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.recipe_registry import EDITORS, REPORT, Recipe, RecipeParameter
from .batch_norm import fold_batch_norm, settle_batch_norm
from .checkpoints import rename_checkpoint, restore_averages, use_averages
from .cut import cut_nms, cut_postprocessing, cut_preprocessing, replace_head
from .freeze import frozen
from .input import set_input
from .merge import merge
from .quantization import insert_after, strip_quantization
from .recompute import recompute
from .signature import add_output, rename, rows, set_signature
from .split import split_at
from .strip import for_inference, strip_checks, strip_dropout, strip_identities, strip_training

_OUTPUTS = RecipeParameter("outputs", "Outputs", "outputs", hint="default: outputs of the opened graph")
_INPUTS = RecipeParameter("inputs", "Inputs", "inputs", hint="default: all placeholders")
_CHECKPOINT = RecipeParameter("checkpoint", "Checkpoint", "text", required=True, hint="such as run/model.ckpt")
_VARIABLES_PARAMETER = RecipeParameter(
    "values",
    "Values",
    "text",
    choices=(("", "current values"), ("initial", "initial, if a variable has no current value")),
)
_MERGE_PARAMETER = (
    ("after", "after: it reads the outputs of this graph"),
    ("beside", "side by side: each keeps its own inputs"),
    ("shared", "shared: inputs of the same name are one"),
)
_STRIP, _ENDS, _VALUES, _PARTS, _QUANTIZE = "Strip", "Inputs and outputs", "Values", "Parts", "Quantization"


def _no_placeholder(editor: Editor) -> str:
    fed = editor.snapshot.type_mask(tuple(PLACEHOLDER_TYPES)).any()
    return "" if fed else "the graph has no placeholder"


def _no_dense_layer(editor: Editor) -> str:
    return "" if editor.snapshot.type_mask(("MatMul",)).any() else "the graph has no dense layer"


def _no_variable(editor: Editor) -> str:
    return "" if editor.snapshot.state.variables else "the graph has no variable"


def _write_renamed(editor: Editor, checkpoint: str, path: str, names: Any) -> Any:
    """Writes a checkpoint with other names of variables. The editor is not used."""
    names_written = rename_checkpoint(checkpoint, path, names)
    return _CheckpointResult(path, names_written)


class _CheckpointResult:
    """The names in a written checkpoint. It prints as a line for each name."""

    def __init__(self, path: str, names: dict[str, str]) -> None:
        self.path, self.names = path, names

    def __repr__(self) -> str:
        return "\n".join(
            [f"{self.path!r}: {counted(len(self.names), 'names')}", *(f"  {a} was {b}" for a, b in self.names.items())]
        )


TABLE = (
    Recipe("for_inference", "Prepare for inference", for_inference, _STRIP, (_OUTPUTS, _INPUTS)),
    Recipe("strip_training", "Remove training-only ops", strip_training, _STRIP, (_OUTPUTS, _INPUTS)),
    Recipe("strip_dropout", "Remove dropout", strip_dropout, _STRIP),
    Recipe("strip_checks", "Remove assertions and checks", strip_checks, _STRIP),
    Recipe("strip_identities", "Remove identities", strip_identities, _STRIP, (_OUTPUTS,)),
    Recipe("settle_batch_norm", "Make batch normalization read its averages", settle_batch_norm, _STRIP),
    Recipe("fold_batch_norm", "Fold batch normalization into the weights", fold_batch_norm, _STRIP, (_OUTPUTS,)),
    Recipe("strip_quantization", "Remove FakeQuant", strip_quantization, _QUANTIZE),
    Recipe(
        "insert_after", "Insert an op after each op of a type", insert_after, _QUANTIZE,
        (RecipeParameter("pattern", "After each", "name", required=True, hint="such as Conv2D"),
         RecipeParameter("op", "Op type to insert", "name", required=True, hint="such as FakeQuantWithMinMaxArgs"),
         RecipeParameter("name", "Name of each", "name", hint="default: a free name")),
    ),
    Recipe(
        "set_input", "Change the shape or dtype of an input", set_input, _ENDS,
        (RecipeParameter("tensor", "Input", "input", required=True, hint="such as image:0"),
         RecipeParameter("shape", "Shape", "shape", hint="such as [None, 96, 96, 3]"),
         RecipeParameter("dtype", "Dtype", "text"), _OUTPUTS),
        unavailable_reason=_no_placeholder,
    ),
    Recipe(
        "add_output", "Add a named output", add_output, _ENDS,
        (RecipeParameter("tensor", "Tensor", "tensor", required=True, hint="such as block1/Relu:0"),
         RecipeParameter("name", "Name", "name", required=True, hint="such as features")),
    ),
    Recipe(
        "set_signature", "Set the serving signature (new editor)", set_signature, _ENDS,
        (RecipeParameter("outputs", "Outputs", "outputs", required=True, hint="tensors, or name=tensor"), _INPUTS),
        EDITORS, ("served",),
    ),
    Recipe(
        "cut_preprocessing", "Cut off preprocessing: decode, resize, scale", cut_preprocessing, _ENDS,
        (RecipeParameter("patterns", "Patterns", "words", hint="default: decode, resize, scale, sound"),),
        unavailable_reason=_no_placeholder,
    ),
    Recipe(
        "cut_postprocessing", "Cut off postprocessing: classes, boxes, probabilities", cut_postprocessing, _ENDS,
        (RecipeParameter("patterns", "Patterns", "words", hint="default: best, nms, probabilities"),),
    ),
    Recipe("cut_nms", "Cut off non-maximum suppression", cut_nms, _ENDS),
    Recipe(
        "replace_head", "Replace the head by a dense layer", replace_head, _ENDS,
        (RecipeParameter("units", "Classes", "text", required=True, hint="such as 10"),
         RecipeParameter("output", "Output", "tensor", hint="default: the only output"),
         RecipeParameter("name", "Scope", "name", hint="default: head")),
        unavailable_reason=_no_dense_layer,
    ),
    Recipe(
        "rename", "Rename inputs, outputs, scopes and variables", rename, _ENDS,
        (RecipeParameter("names", "Patterns", "pairs", hint="such as block*/w=stage*/kernel"),),
        table_parameter="names", table_rows=rows,
    ),
    Recipe("use_averages", "Read averaged weights", use_averages, _VALUES, (_OUTPUTS,)),
    Recipe(
        "restore_averages", "Restore averaged weights from a checkpoint", restore_averages, _VALUES,
        (_CHECKPOINT,), REPORT, unavailable_reason=_no_variable,
    ),
    Recipe(
        "rename_checkpoint", "Write a checkpoint under other names", _write_renamed, _VALUES,
        (_CHECKPOINT, RecipeParameter("path", "To", "text", required=True, hint="such as new/model.ckpt"),
         RecipeParameter("names", "Names", "pairs", required=True, hint="such as old/*=new/*")), REPORT,
    ),
    Recipe(
        "recompute", "Recompute activations to save memory", recompute, _PARTS,
        (RecipeParameter("loss", "Loss", "tensor", required=True, hint="such as loss:0"),
         RecipeParameter("blocks", "Blocks", "words", hint="such as block1, block2"),
         RecipeParameter("to", "Scope of the copies", "name", hint="default: recomputed")),
    ),
    Recipe(
        "frozen", "Freeze: variables become constants (new editor)", frozen, _PARTS,
        (_OUTPUTS, _INPUTS, _VARIABLES_PARAMETER),
        EDITORS, ("frozen",),
    ),
    Recipe(
        "split_at", "Split in two (new editors)", split_at, _PARTS,
        (RecipeParameter("at", "At", "tensors", required=True, hint="such as block1/Relu:0"), _OUTPUTS, _INPUTS),
        EDITORS, ("first", "second"),
    ),
    Recipe(
        "merge", "Merge with another model (new editor)", merge, _PARTS,
        (RecipeParameter("other", "With", "editor", required=True, hint="an editor's name, or a file"),
         RecipeParameter("how", "How", "text", choices=_MERGE_PARAMETER),
         RecipeParameter("connections", "Connections", "pairs", hint="such as features=x"),
         RecipeParameter("names", "Scopes", "words", hint="default: first, second"),
         _VARIABLES_PARAMETER),
        EDITORS, ("merged",),
    ),
)  # fmt: skip
"""All recipes, in the order of the menu."""
