"""Odd values: what an attribute of an op may be spoilt to, by its kind."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

WHOLE = (0, 1, -1, 2, 3, 7, 255, 300, 65_536, 2**31 - 1, -(2**31), 2**32, 10**9, 2**62, 2**63 - 1, -(2**63))
NAMES = (
    *(
        "",
        "x//y",
        "x/",
        "/x",
        ".x",
        "_x",
        "-x",
        "a b",
        "x:0",
        "^x",
        "é",
        "\n",
        "a/" * 300 + "a",
        "n" * 70_000,
        "^",
        ":",
    ),
    *("x\0y", "A", "a", "<script>", "%s", "{0}", "..", "a/../b", "\\", "x>y", "1"),
)
PORTS = (
    ":0",
    ":1",
    ":7",
    ":-1",
    ":4294967296",
    ":4294967297",
    ":18446744073709551616",
    ":00",
    ":x",
    ":",
    ":0:0",
    ": 1",
)
DEVICES = ("", "/cpu:0", "/gpu:7", "/job:x/task:-1", "nonsense", "/device:CPU:99999999999", "\0", "//", "/cpu:0" * 500)


def _set_type(rng: random.Random, value: Any, graph: Any) -> None:
    value.type = rng.choice((0, 1, 2, 3, 7, 9, 10, 14, 20, 21, 23, 28, 31, 101, 103, 108, 120, 121, 99, 999))


def _set_shape(rng: random.Random, value: Any, graph: Any) -> None:
    spoil_shape(rng, value.shape)


def spoil_shape(rng: random.Random, shape: Any) -> None:
    """Gives a shape other dimensions, or none."""
    what = rng.choice(("unknown", "dims", "many", "one", "huge"))
    if what == "unknown":
        shape.unknown_rank = not shape.unknown_rank
        return
    count = {"dims": 2, "many": rng.choice((9, 254, 255, 300)), "one": 1, "huge": 3}[what]
    del shape.dim[:]
    for _ in range(count):
        shape.dim.add(size=2**40 if what == "huge" else rng.choice(WHOLE))


def _set_whole(rng: random.Random, value: Any, graph: Any) -> None:
    value.i = rng.choice(WHOLE)


def _set_float(rng: random.Random, value: Any, graph: Any) -> None:
    value.f = rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e38))


def _set_bool(rng: random.Random, value: Any, graph: Any) -> None:
    value.b = not value.b


def _set_bytes(rng: random.Random, value: Any, graph: Any) -> None:
    other = (b"", b"\xff\xfe", b"x" * 70_000, value.s + value.s, value.s[::-1], b"NCHW", b"VALID", b"\0", b"%s%n")
    value.s = rng.choice(other)


def _set_function(rng: random.Random, value: Any, graph: Any) -> None:
    called = [f.signature.name for f in graph.library.function]
    value.func.name = rng.choice((*called, "no_such_function", "", "MatMul"))
    if rng.random() < 0.2:
        value.func.attr["T"].func.name = rng.choice(called or ["x"])


def _set_list(rng: random.Random, value: Any, graph: Any) -> None:
    items = value.list
    fields = [getattr(items, name) for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func")]
    field = next((f for f in fields if f), None)
    if field is None:
        items.type.append(1)
    elif rng.random() < 0.3:
        del field[rng.randrange(len(field)) :]
    elif isinstance(field[0], (bytes, int, float, bool)):
        field.extend(list(field) * rng.choice((1, 3, 200)))
        if isinstance(field[0], int) and field is not items.type:
            field[rng.randrange(len(field))] = int(rng.choice(WHOLE)) if field is items.i else False
    else:
        field.add().CopyFrom(field[0])
        if field is items.shape:
            spoil_shape(rng, field[rng.randrange(len(field))])


def _set_tensor(rng: random.Random, value: Any, graph: Any) -> None:
    tensor = value.tensor
    what = rng.choice(("type", "shape", "shape", "short", "long", "none", "value", "value", "value", "nested"))
    if what == "type":
        tensor.dtype = rng.choice((0, 1, 3, 7, 9, 20, 21, 99))
    elif what == "shape":
        spoil_shape(rng, tensor.tensor_shape)
    elif what == "short":
        tensor.tensor_content = tensor.tensor_content[:-1]
    elif what == "long":
        tensor.tensor_content += b"\1\2\3"
    elif what == "none":
        tensor.ClearField("tensor_content")
        for name in ("float_val", "int_val", "int64_val", "string_val", "bool_val", "double_val"):
            tensor.ClearField(name)
    elif what == "nested":
        tensor.dtype = 21
        tensor.variant_val.add(type_name="tensorflow::Tensor", metadata=b"\xff").tensors.add().CopyFrom(type(tensor)())
    else:
        _spoil_values(rng, tensor)


def _spoil_values(rng: random.Random, tensor: Any) -> None:
    """Other numbers in a constant: these are sizes, axes and indices to whoever reads them."""
    number = rng.choice(WHOLE)
    if tensor.tensor_content and tensor.dtype in (3, 9):
        width = 4 if tensor.dtype == 3 else 8
        count = len(tensor.tensor_content) // width
        at = rng.randrange(count)
        data = bytearray(tensor.tensor_content)
        data[at * width : (at + 1) * width] = (number % (1 << 8 * width)).to_bytes(width, "little")
        tensor.tensor_content = bytes(data)
    elif tensor.int_val:
        tensor.int_val[0] = (number + 2**31) % 2**32 - 2**31
    elif tensor.int64_val:
        tensor.int64_val[0] = number
    elif tensor.float_val:
        tensor.float_val[0] = rng.choice((float("nan"), float("inf"), -1e38))
    elif tensor.string_val:
        tensor.string_val[0] = rng.choice((b"", b"\xff", b"x" * 1000))


def other_kind(rng: random.Random, value: Any, graph: Any) -> None:
    """Gives an attribute a value of any kind."""
    kind = rng.choice(("i", "s", "type", "shape", "b", "f", "func", "placeholder", "list"))
    if kind == "placeholder":
        value.placeholder = "T"
    elif kind == "list":
        value.list.i.extend(WHOLE[:3])
    else:
        ATTRIBUTE[kind](rng, value, graph)


ATTRIBUTE: dict[str, Callable[..., None]] = {
    "type": _set_type, "shape": _set_shape, "i": _set_whole, "f": _set_float, "b": _set_bool, "s": _set_bytes,
    "func": _set_function, "list": _set_list, "tensor": _set_tensor,
}  # fmt: skip
