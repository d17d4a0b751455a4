"""The families of op types, such as convolution or activation, and their colors."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Ink(NamedTuple):
    """Fill, outline and text color of a family; its color in the dark theme, if it is another one; and its words."""

    fill: str
    line: str
    text: str
    dark: str = ""
    description: str = ""


UNKNOWN = "unknown"
"""The family of op types unknown to the installed TensorFlow, and of folds with such ops; drawn hatched."""

COLORS: dict[str, Ink] = {
    "conv": Ink("#DCE9F9", "#4E7FB8", "#1B2A3D", "#6EA8EC", "convolution, matmul"),
    "norm": Ink("#E3F1E6", "#5B9A6C", "#1B3323", "#4FC3B5", "normalization"),
    "pool": Ink("#DDF0F3", "#3F8C99", "#12313A", "#5BBDD0", "pooling"),
    "activation": Ink("#FBE9DC", "#C0794A", "#40240F", "#F0A25C", "activation"),
    "math": Ink("#EEE7F6", "#8A6DB3", "#2C1F40", "#A797E0", "arithmetic"),
    "shape": Ink("#F0F0EC", "#8C8C80", "#2C2C28", "", "shape, slice, concat"),
    "state": Ink("#FBF3D3", "#B09430", "#3A310C", "#D8B653", "variable, constant, input"),
    "control": Ink("#F7E1E8", "#B56A85", "#3F1A28", "#E288A8", "control flow"),
    "other": Ink("#F5F6F8", "#8A93A0", "#222A35", "", "other op"),
    "scope": Ink("#FFFFFF", "#7C8796", "#1C2430", "#94A7C2", "folded ops"),
    "unknown": Ink("#FBF8F2", "#7A5C3A", "#2B2013", "#C9A57C", "unknown to TensorFlow here"),
}
"""The colors of each family, in the order of the legend; tools/write_verbs.py writes them as CSS."""

TELLING = ("conv", "norm", "pool", "activation")
"""The families that give a fold its color, the most telling first."""

DESCRIPTIONS = {kin: ink.description for kin, ink in COLORS.items()}
"""The text of each family in the legend."""

_EXACT: dict[str, str] = {
    op: family
    for family, ops in {
        "conv": "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 SparseMatMul Einsum",
        "norm": "LRN L2Normalize Dropout L2Loss",
        "activation": "Relu Relu6 LeakyRelu Elu Selu Sigmoid Tanh Softmax LogSoftmax Softplus Softsign",
        "math": "Add AddV2 AddN Sub Mul Div RealDiv FloorDiv Mod FloorMod Pow Sqrt Rsqrt Square Neg Abs "
        "Exp Log Log1p Sum Mean Max Min Prod Any All Maximum Minimum ArgMax ArgMin Cast Round "
        "Floor Ceil Sign Cumsum BiasAdd BiasAddGrad BiasAddV1 SquaredDifference Less LessEqual "
        "Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot Select SelectV2 "
        "Reciprocal DivNoNan AccumulateNV2 Erf Sin Cos",
        "shape": "Reshape Transpose Concat ConcatV2 ConcatOffset Split SplitV Slice StridedSlice Pack "
        "Unpack Pad PadV2 MirrorPad Squeeze ExpandDims Tile Shape ShapeN Rank Size Fill Gather "
        "GatherV2 GatherNd ReverseV2 ReverseSequence OneHot Range ZerosLike OnesLike BroadcastTo "
        "ResizeBilinear SpaceToBatchND BatchToSpaceND Identity IdentityN StopGradient Bitcast "
        "Where ScatterNd DynamicStitch DynamicPartition",
        "state": "Const Placeholder PlaceholderV2 PlaceholderWithDefault Variable VariableV2 VarHandleOp "
        "AutoReloadVariable TemporaryVariable ReadVariableOp Assign AssignAdd AssignSub "
        "AssignVariableOp AssignAddVariableOp AssignSubVariableOp IsVariableInitialized "
        "VarIsInitializedOp DestroyResourceOp",
        "control": "Switch RefSwitch Merge RefMerge Enter RefEnter Exit RefExit NextIteration "
        "RefNextIteration LoopCond While StatelessWhile If StatelessIf Case StatelessCase NoOp "
        "ControlTrigger Assert PartitionedCall StatefulPartitionedCall SymbolicGradient "
        "RemoteCall For Abort",
    }.items()
    for op in ops.split()
}
_PARTS: dict[str, str] = {
    part: family
    for family, parts in {
        "conv": "Conv",
        "norm": "BatchNorm Norm",
        "pool": "Pool",
        "activation": "CrossEntropy Relu",
        "state": "HashTable LookupTable Queue Iterator TensorArray Stack ResourceApply Apply Scatter",
        "other": "Summary Save Restore",
    }.items()
    for part in parts.split()
}


@lru_cache(maxsize=4096)
def family(op_type: str) -> str:
    """Returns the family of an op type: conv, norm, pool, activation, math, shape, state, control or other.

    A gradient has the family of its forward op.

    Example:
        >>> family("Conv2D"), family("Conv2DBackpropFilter"), family("ReluGrad"), family("NoSuchOp")
        ('conv', 'conv', 'activation', 'other')
    """
    result = _EXACT.get(op_type)
    if result is None and op_type.endswith("Grad"):
        result = _EXACT.get(op_type.removesuffix("Grad"))
    if result is None:
        result = next((kin for part, kin in _PARTS.items() if part in op_type), "other")
    return result
