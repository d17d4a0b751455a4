"""StableHLO modules: the library functions that the serialized module of an `XlaCallModule` op calls.

A module is MLIR bytecode. MLIR's own reader ends the process for many malformed modules. So this file reads untrusted
bytes in Python. It parses only the parts of the bytecode that lead to the targets of custom calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: The op type that has a module, in its attribute ``module``.
MODULE_OP = "XlaCallModule"
_MAGIC = b"ML\xefR"
_NEWEST = 6
# The sections of a module.
_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS, _IR, _PROPERTIES = 0, 1, 2, 3, 4, 8
# The bytecode versions that added a field.
_DIALECT_VERSIONS, _REGION_SECTIONS, _USE_LISTS, _OPTIONAL_LOCATIONS, _OP_PROPERTIES = 1, 2, 3, 4, 5
# The fields that an op has, as bits.
_HAS_ATTRIBUTES, _HAS_RESULTS, _HAS_OPERANDS, _HAS_SUCCESSORS, _HAS_REGIONS, _HAS_USES, _HAS_PROPERTIES = (
    1 << bit for bit in range(7)
)
#: (dialect, code of the kind) of attributes that are strings, and of attributes that are dictionaries.
_STRING = frozenset({("builtin", 2), ("builtin", 3), ("vhlo", 14)})
_DICTIONARY = frozenset({("builtin", 1)})
#: The form of an op type in a portable module, and the op types that only contain other ops.
_VERSIONED, _FRAME = re.compile(r"^vhlo\.(\w+)_v\d+$"), ("func", "module", "return")
_CALL, _TARGET = "custom_call", "call_target_name"

#: Targets that XLA or TensorFlow itself implements, without a library.
BUILT_IN = frozenset(
    {
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "shape_assertion"),
        *("tf.call_tf_function", "stablehlo.dynamic_reduce_window", "stablehlo.dynamic_rng_bit_generator"),
        *("stablehlo.dynamic_top_k", "stablehlo.dynamic_approx_top_k", "TopK", "mhlo.topk", "mhlo.erf", "mhlo.tan"),
    }
)


def library_calls(module: bytes) -> tuple[str, ...] | None:
    """Returns the library functions that a serialized module calls, sorted; None if the module cannot be read.

    Args:
        module: the bytes of the attribute ``module`` of an `XlaCallModule` op.

    Example:
        >>> print(library_calls(b"not a module"))
        None
    """
    try:
        return tuple(sorted(set(_BytecodeModule(module).targets()) - BUILT_IN))
    except (ValueError, LookupError, RecursionError):
        return None


def op_names(module: bytes) -> tuple[str, ...]:
    """Returns the op types of a serialized module, in the order of its table; empty if the module cannot be read.

    Example:
        >>> op_names(b"not a module")
        ()
    """
    try:
        names = _BytecodeModule(module).ops
    except (ValueError, LookupError):
        return ()
    plain = (_VERSIONED.sub(r"stablehlo.\1", name) for name in names)
    return tuple(name for name in dict.fromkeys(plain) if name.rpartition(".")[2] not in _FRAME)


class _BytecodeReader:
    """Reads MLIR's encoding; raises an IndexError at the end of the bytes.

    Args:
        data: the bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._offset = data, 0

    def __bool__(self) -> bool:
        return self._offset < len(self._data)

    def take(self, size: int) -> bytes:
        self._offset += size
        if self._offset > len(self._data):
            raise IndexError
        return self._data[self._offset - size : self._offset]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """Reads a number. The number of trailing zero bits of its first byte is the number of bytes that follow."""
        first = self.byte()
        more = (first & -first).bit_length() - 1 if first else 8
        whole = int.from_bytes(bytes([first]) + self.take(more), "little")
        return whole >> (more + 1 if first else 8)

    def numbers(self) -> list[int]:
        return [self.number() for _ in range(self.number())]

    def flagged_number(self) -> tuple[int, bool]:
        number = self.number()
        return number >> 1, bool(number & 1)

    def text(self) -> str:
        """Reads a text that ends with a zero."""
        end = self._data.index(b"\0", self._offset)
        return self.take(end + 1 - self._offset)[:-1].decode("utf-8", "replace")

    def section(self) -> tuple[int, bytes]:
        kind, size = self.byte(), self.number()
        if kind & 0x80:
            self.take(-self._offset % (self.number() or 1))
        return kind & 0x7F, self.take(size)


class _BytecodeModule:
    """The tables of a module, and its ops.

    Args:
        data: the bytes of the module.

    Attributes:
        ops: the names of its op types.
    """

    def __init__(self, data: bytes) -> None:
        reader = _BytecodeReader(data)
        if reader.take(len(_MAGIC)) != _MAGIC:
            raise ValueError
        self._version = reader.number()
        if self._version > _NEWEST:
            raise ValueError
        reader.text()  # the program that wrote the module
        sections = dict[int, bytes]()
        while reader:
            kind, section = reader.section()
            sections[kind] = section
        self._strings = _strings(_BytecodeReader(sections[_STRINGS]))
        self._dialects, self.ops = self._names(_BytecodeReader(sections[_DIALECTS]))
        self._attributes = self._table(_BytecodeReader(sections[_OFFSETS]), _BytecodeReader(sections[_ATTRIBUTES]))
        properties = _BytecodeReader(sections.get(_PROPERTIES, b"\x01"))
        self._properties = [properties.take(properties.number()) for _ in range(properties.number())]
        self._ir = sections[_IR]

    def targets(self) -> Iterator[str]:
        """Returns the target of each custom call."""
        return self._block(_BytecodeReader(self._ir)) if any(_CALL in name for name in self.ops) else iter(())

    def _names(self, reader: _BytecodeReader) -> tuple[list[str], list[str]]:
        """Returns the names of the dialects and of the op types."""
        dialects, ops = list[str](), list[str]()
        for _ in range(reader.number()):
            name, versioned = (
                reader.flagged_number() if self._version >= _DIALECT_VERSIONS else (reader.number(), False)
            )
            dialects.append(self._strings[name])
            if versioned:
                reader.section()
        if self._version >= _OPTIONAL_LOCATIONS:
            reader.number()
        while reader:
            dialect = dialects[reader.number()]
            for _ in range(reader.number()):
                name = reader.flagged_number()[0] if self._version >= _OP_PROPERTIES else reader.number()
                ops.append(f"{dialect}.{self._strings[name]}")
        return dialects, ops

    def _table(self, reader: _BytecodeReader, data: _BytecodeReader) -> list[tuple[str, bytes]]:
        """Returns the dialect and the bytes of each attribute; an attribute that is written as text has no dialect."""
        count = reader.number()
        reader.number()  # the number of types that follow
        rows = list[tuple[str, bytes]]()
        while len(rows) < count:
            dialect = self._dialects[reader.number()]
            for _ in range(reader.number()):
                size, coded = reader.flagged_number()
                rows.append((dialect if coded else "", data.take(size)))
        return rows

    def _region(self, reader: _BytecodeReader) -> Iterator[str]:
        blocks = reader.number()
        if blocks:
            reader.number()  # the number of values that the region defines
        for _ in range(blocks):
            yield from self._block(reader)

    def _block(self, reader: _BytecodeReader) -> Iterator[str]:
        ops, has_arguments = reader.flagged_number()
        if has_arguments:
            arguments = reader.number()
            for _ in range(arguments):
                kind = reader.number()
                if self._version < _OPTIONAL_LOCATIONS or kind & 1:
                    reader.number()
            if self._version >= _USE_LISTS and reader.byte():
                _pass_uses(reader, arguments)
        for _ in range(ops):
            yield from self._op(reader)

    def _op(self, reader: _BytecodeReader) -> Iterator[str]:
        name, has = self.ops[reader.number()], reader.byte()
        reader.number()  # the location
        attributes = reader.number() if has & _HAS_ATTRIBUTES else None
        properties = reader.number() if has & _HAS_PROPERTIES else None
        if _CALL in name:
            yield self._target(attributes, properties)
        results = len(reader.numbers()) if has & _HAS_RESULTS else 0
        for field in (_HAS_OPERANDS, _HAS_SUCCESSORS):
            if has & field:
                reader.numbers()
        if self._version >= _USE_LISTS and has & _HAS_USES:
            _pass_uses(reader, results)
        if not has & _HAS_REGIONS:
            return
        regions, isolated = reader.flagged_number()
        inner = (
            _BytecodeReader(reader.section()[1])
            if regions and isolated and self._version >= _REGION_SECTIONS
            else reader
        )
        for _ in range(regions):
            yield from self._region(inner)

    def _target(self, attributes: int | None, properties: int | None) -> str:
        """Returns the target of a custom call: the attribute `call_target_name`, or the third property."""
        if properties is not None:
            reader = _BytecodeReader(self._properties[properties])
            first = reader.number()
            if reader:
                reader.number()
                return self._string(reader.number())
            attributes = first  # the properties of an op type that is unknown to the writer
        return self._string(self._dictionary(attributes)[_TARGET])

    def _dictionary(self, number: int | None) -> dict[str, int]:
        if number is None:
            return {}
        kind, reader = self._attribute_reader(number)
        if kind not in _DICTIONARY:
            raise ValueError
        return {self._string(reader.number()): reader.number() for _ in range(reader.number())}

    def _string(self, number: int) -> str:
        kind, reader = self._attribute_reader(number)
        if kind not in _STRING:
            raise ValueError
        return self._strings[reader.number()]

    def _attribute_reader(self, number: int) -> tuple[tuple[str, int], _BytecodeReader]:
        """Returns the kind of an attribute, and a reader of its value."""
        dialect, data = self._attributes[number]
        reader = _BytecodeReader(data)
        return (dialect, reader.number()), reader


def _strings(reader: _BytecodeReader) -> list[str]:
    sizes = reader.numbers()
    return [reader.take(size)[:-1].decode("utf-8", "replace") for size in reversed(sizes)]


def _pass_uses(reader: _BytecodeReader, values: int) -> None:
    """Skips the order of the uses of some values."""
    for _ in range(reader.number() if values > 1 else 1):
        if values > 1:
            reader.number()
        for _ in range(reader.flagged_number()[0]):
            reader.number()
