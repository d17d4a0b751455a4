"""Recipes: common tasks, each one a function over the public API. A recipe returns a plan or a new editor."""

from .batch_norm import fold_batch_norm, settle_batch_norm
from .cut import cut_nms, cut_postprocessing, cut_preprocessing, replace_head
from .input import set_input
from .quantization import insert_after, strip_quantization
from .recompute import recompute
from .signature import add_output, rename, set_signature
from .split_and_merge import merge, split_at
from .strip import for_inference, strip_checks, strip_dropout, strip_identities, strip_training
from .variables import frozen, rename_checkpoint, restore_averages, use_averages

__all__ = [
    "add_output",
    "cut_nms",
    "cut_postprocessing",
    "cut_preprocessing",
    "fold_batch_norm",
    "for_inference",
    "frozen",
    "insert_after",
    "merge",
    "recompute",
    "rename",
    "rename_checkpoint",
    "replace_head",
    "restore_averages",
    "set_input",
    "set_signature",
    "settle_batch_norm",
    "split_at",
    "strip_checks",
    "strip_dropout",
    "strip_identities",
    "strip_quantization",
    "strip_training",
    "use_averages",
]
