"""Adapters, which make a tensor fit a consumer of another dtype or shape: casts, reshapes, pools, dense layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count, permutations
from math import prod
from typing import Any

from ..graph.graph import Graph, TensorInfo, shape_text
from .type_check import base_dtype, fits, shapes_differ

_Sizes = tuple[int | None, ...]
#: The only dtypes that TensorFlow can pool along three axes.
_POOLED_3D = ("bfloat16", "float32")
FLOATS = ("bfloat16", "float16", "float32", "float64")
_INTEGERS = ("bool", "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8")
_COMPLEX = ("complex128", "complex64")
#: The dtypes that a tensor can be cast to.
CASTABLE = (*_COMPLEX, *FLOATS, *_INTEGERS)
#: The kinds that a user can choose, in alphabetical order, each with its options.
KINDS: dict[str, tuple[str, ...]] = {
    "cast": (), "dense": ("bias", "data_format", "seed"), "pad": ("data_format", "paddings", "value"),
    "pool": ("data_format", "mode"), "reshape": (), "resize": ("data_format", "method"), "transpose": ("perm",),
}  # fmt: skip
#: The combinations to try, in order: combinations that lose or add less of the tensor come first.
_CHAINS = (
    ("transpose",), ("reshape",), ("pool",), ("resize",), ("pad",), ("dense",), ("transpose", "pool"),
    ("transpose", "resize"), ("transpose", "pad"), ("transpose", "dense"), ("pool", "dense"), ("resize", "dense"),
    ("reshape", "dense"), ("dense", "reshape"),
)  # fmt: skip
_FORMATS = ("NCHW", "NHWC")
_METHODS = ("area", "bicubic", "bilinear", "nearest")
_MODES = ("avg", "max")
#: The largest number of channels of an image. Images are resized before they are pooled.
_COLORS = 4
#: The largest number of axes for which transpositions are tried.
_AXES = 5


@dataclass(frozen=True)
class Cast:
    """A cast to another dtype."""

    dtype: str

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        return TensorInfo(self.dtype, info.shape)

    def __str__(self) -> str:
        return f"cast to {self.dtype}"


@dataclass(frozen=True)
class Reshape:
    """A reshape.

    Args:
        shape: the new shape; if one size is unknown, it is computed.
        sizes: if several sizes are unknown, the axes of the tensor with these sizes, in order.
    """

    shape: _Sizes
    sizes: tuple[int, ...] = ()

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        shape = self.shape
        if info.shape is not None and None not in info.shape and shape.count(None) == 1:
            rest = prod(n for n in shape if n is not None)
            shape = tuple(_element_count(info.shape) // rest if n is None and rest else n for n in shape)
        return TensorInfo(base_dtype(info.dtype), shape)

    def __str__(self) -> str:
        return f"reshape to {shape_text(self.shape)}"


@dataclass(frozen=True)
class Transpose:
    """A transposition of the axes."""

    perm: tuple[int, ...]

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        shape = None if info.shape is None else tuple(info.shape[axis] for axis in self.perm)
        return TensorInfo(base_dtype(info.dtype), shape)

    def __str__(self) -> str:
        return f"transpose by {list(self.perm)}"


@dataclass(frozen=True)
class Pad:
    """Padding with a value; `paddings` has the numbers of values before and after, for each axis."""

    paddings: tuple[tuple[int, int], ...]
    value: float = 0

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        shape = info.shape
        if shape is not None:
            shape = tuple(None if n is None else n + sum(p) for n, p in zip(shape, self.paddings, strict=True))
        return TensorInfo(base_dtype(info.dtype), shape)

    def __str__(self) -> str:
        return f"pad by {[list(pair) for pair in self.paddings]}" + (f" with {self.value}" if self.value else "")


@dataclass(frozen=True)
class Resize:
    """A resize of images to another height and width."""

    size: tuple[int, int]
    method: str = "bilinear"
    data_format: str = "NHWC"

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        dtype = base_dtype(info.dtype) if self.method == "nearest" else "float32"
        shape = info.shape
        return TensorInfo(
            dtype, None if shape is None else _with_sizes(shape, _spatial(4, self.data_format), self.size)
        )

    def __str__(self) -> str:
        return f"resize to {' x '.join(map(str, self.size))} ({self.method})"


@dataclass(frozen=True)
class Pool:
    """The mean or maximum of windows, or of the whole image for `window=None`."""

    window: tuple[int, ...] | None
    strides: tuple[int, ...] = ()
    mode: str = "avg"
    data_format: str = "NHWC"
    keep_dims: bool = False

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        shape = info.shape
        if shape is not None:
            axes = _spatial(len(shape), self.data_format)
            if self.window is None:
                reduced = _with_sizes(shape, axes, [1] * len(axes))
                shape = reduced if self.keep_dims else tuple(n for axis, n in enumerate(shape) if axis not in axes)
            else:
                windows = zip(axes, self.window, self.strides, strict=True)
                shape = _with_sizes(
                    shape, axes, [_window_count(shape[axis], size, step) for axis, size, step in windows]
                )
        return TensorInfo(base_dtype(info.dtype), shape)

    def __str__(self) -> str:
        whole = "mean" if self.mode == "avg" else "maximum"
        return f"{whole} of each channel" if self.window is None else f"{whole} of {' x '.join(map(str, self.window))}"


@dataclass(frozen=True)
class Dense:
    """A dense layer over the channels, with its own variables: ``kernel`` and, if `bias` is true, ``bias``."""

    units: int
    bias: bool = True
    seed: int | None = None
    data_format: str = "NHWC"

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        shape = info.shape
        if shape is not None:
            shape = _with_sizes(shape, [_channel(len(shape), self.data_format)], [self.units])
        return TensorInfo(base_dtype(info.dtype), shape)

    def __str__(self) -> str:
        return f"dense to {self.units}"


AdapterPart = Cast | Dense | Pad | Pool | Reshape | Resize | Transpose


@dataclass(frozen=True)
class Adapter:
    """Parts that make a tensor fit, one after another."""

    parts: tuple[AdapterPart, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its kinds, without the casts next to other kinds, which are added automatically."""
        kinds = tuple(map(kind_of, self.parts))
        return tuple(kind for kind in kinds if kind != "cast") or kinds[:1]

    def output_info(self, info: TensorInfo) -> TensorInfo:
        """Returns the dtype and shape of the result for a tensor with this dtype and shape."""
        for part in self.parts:
            info = part.output_info(info)
        return info

    def __str__(self) -> str:
        return ", then ".join(map(str, self.parts))


@dataclass(frozen=True)
class AdapterSpec:
    """A request for an adapter.

    Args:
        kinds: the kinds, one after another; empty for the first proposal.
        dtype, shape: of the result; None for those of the tensor that is read now.
        options: the options of the kinds.
    """

    kinds: tuple[str, ...] = ()
    dtype: str | None = None
    shape: _Sizes | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def target_info(self, info: TensorInfo) -> TensorInfo:
        """Returns dtype and shape of the result for a consumer of this dtype and shape."""
        return TensorInfo(self.dtype or base_dtype(info.dtype), info.shape if self.shape is None else self.shape)


def kind_of(part: AdapterPart) -> str:
    """Returns the name of a part."""
    return type(part).__name__.lower()


def proposals(source: TensorInfo, target: TensorInfo, data_format: str = "") -> tuple[Adapter, ...]:
    """Returns the adapters that make a tensor fit its consumers, the most sensible first.

    Args:
        source: dtype and shape of the tensor.
        target: dtype and shape that the consumers read now.
        data_format: the data format of the consumers, if known: ``NHWC`` or ``NCHW``.

    Returns:
        the adapters; empty if the tensor fits already, or if no adapter makes it fit.

    Example:
        >>> features, head = TensorInfo("float32", (None, 7, 7, 512)), TensorInfo("float32", (None, 64))
        >>> for adapter in proposals(features, head):
        ...     print(adapter)
        mean of each channel, then dense to 64
        reshape to (?, 25088), then dense to 64
    """
    if fits(source, target):
        return ()
    options = (("data_format", data_format),) if data_format in _FORMATS else ()
    out = dict[tuple[str, ...], Adapter]()
    for kinds in _chains(source, target):
        if not any(_within(shorter, kinds) for shorter in out):
            adapter = _build_adapter(kinds, source, target, dict(options))
            out |= {} if adapter is None else {kinds: adapter}
    return tuple(out.values())


def requested_adapter(
    source: TensorInfo, target: TensorInfo, spec: AdapterSpec, data_format: str = ""
) -> Adapter | None:
    """Returns the requested adapter; None if it cannot make a tensor fit.

    Args:
        source: dtype and shape of the tensor.
        target: dtype and shape of the result.
        spec: the kinds and options.
        data_format: as for `proposals`.

    Example:
        >>> a, b = TensorInfo("uint8", (None, 28, 28)), TensorInfo("float32", (None, 784))
        >>> print(requested_adapter(a, b, AdapterSpec(("reshape",))))
        cast to float32, then reshape to (?, 784)
        >>> requested_adapter(a, b, AdapterSpec(("pool",)))
    """
    options = {**({"data_format": data_format} if data_format in _FORMATS else {}), **dict(spec.options)}
    if spec.kinds:
        return _build_adapter(spec.kinds, source, target, options, explicit=True)
    candidates = (_build_adapter(kinds, source, target, options) for kinds in _chains(source, target))
    return None if fits(source, target) else next(filter(None, candidates), None)


def data_format_of(graph: Graph, ops: Iterable[int]) -> str:
    """Returns the data format of the first op that has one: ``NHWC`` or ``NCHW``; empty if no op has one."""
    for op in ops:
        attr = getattr(graph.nodes[op], "attr", {})
        text = attr["data_format"].s.decode("utf-8", "replace") if "data_format" in attr else ""
        if text in _FORMATS:
            return text
    return ""


def as_tuples(value: Any) -> Any:
    """Returns the value of an option with tuples for lists and arrays, however deep.

    Example:
        >>> as_tuples([[0, 1], [2, 0]]), as_tuples("avg")
        (((0, 1), (2, 0)), 'avg')
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def option_fault(kinds: Sequence[str], options: Iterable[tuple[str, Any]]) -> tuple[str, str] | None:
    """Returns the problem with kinds or options, and a suggestion; None if there is no problem.

    Args:
        kinds: the kinds.
        options: the options of these kinds, or of any kind if `kinds` is empty.

    Example:
        >>> option_fault(["resize"], [("method", "sharp")])
        ("method='sharp' is not known", "Choose one of 'area', 'bicubic', 'bilinear', 'nearest'")
        >>> option_fault(["dense"], [("seed", 1)])
    """
    closed = {"data_format": _FORMATS, "method": _METHODS, "mode": _MODES}
    for kind in kinds:
        if kind not in KINDS:
            return f"kinds={kind!r} is not known", f"Choose one of {', '.join(map(repr, KINDS))}"
    able = sorted({name for kind in kinds or KINDS for name in KINDS[kind]})
    for name, value in options:
        if name not in able:
            whose = " and ".join(kinds) or "an adapter"
            has = f"It has {', '.join(able)}" if able else "It has no options; choose the result by dtype= and shape="
            return f"{whose} has no option {name!r}", has
        if name in closed and value not in closed[name]:
            return f"{name}={value!r} is not known", f"Choose one of {', '.join(map(repr, closed[name]))}"
    return None


# -- the search -----------------------------------------------------------------------------------


def _chains(source: TensorInfo, target: TensorInfo) -> Iterator[tuple[str, ...]]:
    """The kinds to try, in order: images are resized first, features pooled first."""
    shape = target.shape
    if not shapes_differ(source.shape, shape):
        yield ("cast",)
        return
    image = shape is not None and len(shape) == 4 and any(n is not None and n <= _COLORS for n in (shape[1], shape[3]))
    swapped = {"pool": "resize", "resize": "pool"} if image else {}
    for kinds in _CHAINS:
        yield tuple(swapped.get(kind, kind) for kind in kinds)


def _within(kinds: Sequence[str], others: Sequence[str]) -> bool:
    """Whether `others` contains all of `kinds` in this order, and so would do more than is needed."""
    rest = iter(others)
    return all(kind in rest for kind in kinds)


def _build_adapter(
    kinds: Sequence[str], source: TensorInfo, target: TensorInfo, options: dict[str, Any], explicit: bool = False
) -> Adapter | None:
    """An adapter of these kinds, with the casts that it needs; None if it would not fit.

    Args:
        explicit: whether the user has chosen the kinds; then a part may leave dtype and shape unchanged.
    """
    goal, info, parts = (
        base_dtype(target.dtype),
        TensorInfo(base_dtype(source.dtype), source.shape),
        list[AdapterPart](),
    )
    if info.dtype != goal and not _castable(info.dtype, goal):
        return None
    if goal in FLOATS and info.dtype != goal and tuple(kinds) != ("cast",):
        parts.append(Cast(goal))
        info = parts[-1].output_info(info)
    for at, kind in enumerate(kinds):
        aim = _part_target(kind, kinds[at + 1 :], info, target, options)
        part = None if aim is None else _BUILDERS[kind](info, aim, options, explicit)
        if part is None or (not explicit and part.output_info(info) == info):
            return None
        parts.append(part)
        info = part.output_info(info)
    if info.dtype != goal:
        parts.append(Cast(goal))
        info = parts[-1].output_info(info)
    return Adapter(tuple(parts)) if fits(info, target) else None


def _castable(source: str, target: str) -> bool:
    plain = FLOATS + _INTEGERS
    return (source in plain and target in (*plain, *_COMPLEX)) or (source in _COMPLEX and target in _COMPLEX)


def _part_target(
    kind: str, next_kinds: Sequence[str], info: TensorInfo, target: TensorInfo, options: dict[str, Any]
) -> TensorInfo | None:
    """The result that a part must have for the next parts to work; None if no result is suitable."""
    shape = target.shape
    if not next_kinds or shape is None or info.shape is None:
        return target
    if next_kinds[0] == "dense" and kind == "reshape":
        return TensorInfo(target.dtype, (*shape[:-1], None)) if len(info.shape) > len(shape) > 1 else None
    if next_kinds[0] == "dense":
        return _before_dense(info.shape, target, options)
    if next_kinds[0] == "reshape" and len(info.shape) == 2 < len(shape) and None not in shape[1:]:
        return TensorInfo(target.dtype, (shape[0], prod(n for n in shape[1:] if n is not None)))
    return target if next_kinds[0] in ("cast", "pool", "resize", "pad", "transpose") else None


def _before_dense(shape: _Sizes, target: TensorInfo, options: dict[str, Any]) -> TensorInfo | None:
    """Returns the input that a final dense layer needs: the target, but with the existing number of channels."""
    layout, out = _layout(shape, options), target.shape
    if not shape or not out or (len(shape) == len(out) and {_square(shape), _square(out)} == set(_FORMATS)):
        return None
    return TensorInfo(
        target.dtype, _with_sizes(out, [_channel(len(out), layout)], [shape[_channel(len(shape), layout)]])
    )


def _cast(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    return Cast(base_dtype(aim.dtype)) if base_dtype(aim.dtype) != info.dtype else None


def _reshape(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape = info.shape, aim.shape
    if shape is None:
        return None
    if source is None:
        return Reshape(shape) if explicit and shape.count(None) < 2 else None
    squeezed = _squeeze(source, shape)
    if squeezed is not None:
        return squeezed
    if source and shape and not shapes_differ(source[:1], shape[:1]):
        rest = _fill(source[1:], shape[1:])
        if rest is not None:
            return Reshape((shape[0] if source[0] is None else source[0], *rest))
    whole = _fill(source, shape)
    if whole is not None:
        return Reshape(whole)
    return Reshape(shape) if explicit and None in source and shape.count(None) == 1 else None


def _squeeze(source: _Sizes, shape: _Sizes) -> Reshape | None:
    """The reshape in which only axes of size 1 are added or removed; None if more would change."""
    more = abs(len(source) - len(shape))
    longer = source if len(source) > len(shape) else shape
    if not more or len(longer) > _AXES + 1:
        return None
    ways = reversed(list(combinations(range(len(longer)), more)))
    for dropped_axes in sorted(ways, key=lambda gone: sum(longer[axis] != 1 for axis in gone)):
        if any(longer[axis] != 1 and (longer is source or longer[axis] is not None) for axis in dropped_axes):
            continue
        other_axes = [axis for axis in range(len(longer)) if axis not in dropped_axes]
        pairs = [
            (source[a], shape[b], a)
            for a, b in (zip(other_axes, count()) if longer is source else zip(count(), other_axes))
        ]
        if shapes_differ(tuple(n for n, _, _ in pairs), tuple(m for _, m, _ in pairs)):
            continue
        new_shape = [m if n is None else n for n, m, _ in pairs]
        sizes = tuple(axis for (_, _, axis), n in zip(pairs, new_shape, strict=True) if n is None)
        if longer is shape:
            for axis in dropped_axes:
                new_shape.insert(axis, 1)
        return Reshape(tuple(new_shape), sizes if len(sizes) > 1 else ())
    return None


def _fill(source: _Sizes, shape: _Sizes) -> _Sizes | None:
    """Returns `shape` with its unknown size computed, if it has as many elements as `source`; otherwise None."""
    if None in source or shape.count(None) > 1:
        return None
    whole, rest = _element_count(source), prod(n for n in shape if n is not None)
    if None not in shape:
        return shape if whole == rest else None
    if not rest or whole % rest:
        return None
    return tuple(whole // rest if n is None else n for n in shape)


def _transpose(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape = info.shape, aim.shape
    if "perm" in options:
        perm = tuple(options["perm"])
        valid = source is None or sorted(perm) == list(range(len(source)))
        return Transpose(perm) if valid else None
    if source is None or shape is None or len(source) != len(shape) or not 2 <= len(source) <= _AXES:
        return None
    image = [(0, 2, 3, 1), (0, 3, 1, 2)] if len(source) == 4 else [(0, 2, 1)] if len(source) == 3 else []
    others = sorted(permutations(range(len(source))), key=lambda perm: (perm[0] != 0, perm))
    for perm in dict.fromkeys([*image, *others[1:]]):
        permuted = [source[axis] for axis in perm]
        if all(n == m or m is None for n, m in zip(permuted, shape, strict=True)):
            return Transpose(perm)
    for perm in (
        image if len(source) == 4 else []
    ):  # the next part does the rest: the channels are in the required place
        permuted, channel = [source[axis] for axis in perm], 3 if perm == (0, 2, 3, 1) else 1
        if permuted[channel] is not None and permuted[channel] == shape[channel] != source[channel]:
            return Transpose(perm)
    return None


def _pad(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape, value = info.shape, aim.shape, options.get("value", 0)
    if "paddings" in options:
        return Pad(tuple((int(a), int(b)) for a, b in options["paddings"]), value)
    if source is None or shape is None or len(source) != len(shape) or not source:
        return None
    more = [0 if n is None or m is None else m - n for n, m in zip(source, shape, strict=True)]
    if min(more) < 0 or not any(more) or (len(source) > 1 and more[0]):
        return None
    spatial = _spatial(len(source), _format(source, shape, options))
    pairs = ((n // 2, n - n // 2) if axis in spatial else (0, n) for axis, n in enumerate(more))
    return Pad(tuple(pairs), value)


def _resize(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape = info.shape, aim.shape
    if source is None or shape is None or len(source) != 4 or len(shape) != 4:
        return None
    data_format = _format(source, shape, options)
    size = [source[axis] if shape[axis] is None else shape[axis] for axis in _spatial(4, data_format)]
    if None in size or info.dtype in (*_COMPLEX, "bool"):
        return None
    plain = "bilinear" if base_dtype(aim.dtype) in FLOATS else "nearest"
    return Resize((size[0] or 0, size[1] or 0), options.get("method", plain), data_format)


def _pool(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape, mode = info.shape, aim.shape, options.get("mode", "avg")
    if source is None or shape is None or not 3 <= len(source) <= 5 or info.dtype not in FLOATS:
        return None
    if len(shape) == 2:
        return Pool(None, (), mode, _layout(source, options))
    if len(source) != len(shape):
        return None
    data_format = _format(source, shape, options)
    axes = _spatial(len(source), data_format)
    if len(source) == 5 and info.dtype not in _POOLED_3D:
        return None
    if all(shape[axis] == 1 for axis in axes) and any(source[axis] is None for axis in axes):
        return Pool(None, (), mode, data_format, keep_dims=True)
    window, strides = list[int](), list[int]()
    for n, m in ((source[axis], shape[axis]) for axis in axes):
        if m is None:
            m = n
        if n is None or m is None:
            if n is not m:
                return None
            window, strides = [*window, 1], [*strides, 1]
            continue
        if not 0 < m <= n:
            return None
        strides.append(n // m)
        window.append(n - (m - 1) * strides[-1])
    return Pool(tuple(window), tuple(strides), mode, data_format) if explicit or max(window) > 1 else None


def _dense(info: TensorInfo, aim: TensorInfo, options: dict[str, Any], explicit: bool) -> AdapterPart | None:
    source, shape = info.shape, aim.shape
    if source is None or shape is None or len(source) != len(shape) or len(source) < 2:
        return None
    if info.dtype not in FLOATS or base_dtype(aim.dtype) not in FLOATS:
        return None
    data_format = _format(source, shape, options, dense=True)
    at = _channel(len(source), data_format)
    units = shape[at]
    if source[at] is None or not units or not source[at]:
        return None
    return Dense(units, bool(options.get("bias", True)), options.get("seed"), data_format)


_BUILDERS: dict[str, Callable[[TensorInfo, TensorInfo, dict[str, Any], bool], AdapterPart | None]] = {
    "cast": _cast, "dense": _dense, "pad": _pad, "pool": _pool, "reshape": _reshape, "resize": _resize,
    "transpose": _transpose,
}  # fmt: skip


# -- axes -----------------------------------------------------------------------------------------


def _spatial(rank: int, data_format: str) -> range:
    """The axes of height and width, or of time."""
    return range(2, rank) if data_format == "NCHW" else range(1, rank - 1)


def _channel(rank: int, data_format: str) -> int:
    return 1 if data_format == "NCHW" and rank > 1 else rank - 1


def _layout(shape: _Sizes, options: dict[str, Any]) -> str:
    """The data format of a tensor: as given, or inferred from the square shape of an image."""
    return str(options.get("data_format", _square(shape) or "NHWC"))


def _square(shape: _Sizes) -> str:
    """The data format inferred from the square shape of an image; empty if the shape is not square."""
    if len(shape) != 4 or None in shape[1:] or (shape[1] == shape[2]) == (shape[2] == shape[3]):
        return ""
    return "NHWC" if shape[1] == shape[2] else "NCHW"


def _format(source: _Sizes, shape: _Sizes, options: dict[str, Any], dense: bool = False) -> str:
    """Returns the data format in which two shapes have equal channels; with `dense`, equal sizes in all other axes."""
    if "data_format" in options or len(source) < 3:
        return str(options.get("data_format", "NHWC"))
    if _square(source) and _square(source) == _square(shape):
        return _square(source)
    for data_format in ("NHWC", "NCHW")[: len(source) - 2]:  # the channels of a sequence are last
        at = _channel(len(source), data_format)
        among = [axis for axis in range(len(source)) if (axis == at) != dense]
        if not shapes_differ(*(tuple(one[axis] for axis in among) for one in (source, shape))):
            return data_format
    return "NHWC"


def _with_sizes(shape: _Sizes, axes: Sequence[int], sizes: Sequence[int | None]) -> _Sizes:
    new = dict(zip(axes, sizes, strict=True))
    return tuple(new.get(axis, n) for axis, n in enumerate(shape))


def _window_count(n: int | None, size: int, step: int) -> int | None:
    return None if n is None else (n - size) // step + 1


def _element_count(shape: _Sizes) -> int:
    return prod(n for n in shape if n is not None)
