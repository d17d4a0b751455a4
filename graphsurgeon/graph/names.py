"""Names of copies, collections and devices, and the tree of name scopes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PlanError
from .edges import Ints
from .types import TFNodeDef


@dataclass(frozen=True, eq=False)
class Scopes:
    """Name scopes as arrays. Scope 0 is the root (``""``), and a parent always comes before its children.

    If the name of an op is also a scope (``w`` next to ``w/read``), the op is in this scope.

    Args:
        names: full scope names, without a slash at the end.
        parents: number of the parent scope; -1 for the root.
        scope_of: for each op, the innermost scope that contains it.

    Example:
        >>> s = Scopes.from_names(["a/b", "a/c/d"])
        >>> s.names, s.scope_of.tolist()
        (['', 'a', 'a/c'], [1, 2])
    """

    names: Sequence[str]
    parents: Ints
    scope_of: Ints
    index: Mapping[str, int]

    @classmethod
    def from_names(cls, op_names: Sequence[str], ops: Mapping[str, int] | None = None) -> Scopes:
        """Builds the tree from op names.

        Args:
            op_names: the names, in the order of the ops.
            ops: name -> number of the op, if this mapping exists already.
        """
        root = cls([""], np.asarray([-1], np.int32), np.empty(0, np.int32), {"": 0})
        return root.with_ops(op_names, dict(zip(op_names, range(len(op_names)), strict=True)) if ops is None else ops)

    def with_ops(self, op_names: Sequence[str], ops: Mapping[str, int]) -> Scopes:
        """Returns the tree with more ops; this tree does not change.

        Args:
            op_names: the names of the new ops, which come after the existing ops.
            ops: name -> number, for all ops.

        Example:
            >>> Scopes.from_names(["a/b"]).with_ops(["a/c/d", "a"], {"a/b": 0, "a/c/d": 1, "a": 2}).scope_of.tolist()
            [1, 2, 1]
        """
        index, names, parents = dict(self.index), list(self.names), self.parents.tolist()
        paths = [op.rpartition("/")[0] for op in op_names]
        for path in dict.fromkeys(paths):
            number, new = index.get(path), []  # from the innermost level up to a known scope, without recursion
            while number is None:
                new.append(path)
                path = path.rpartition("/")[0]
                number = index.get(path)
            for path in reversed(new):
                parents.append(number)
                number = index[path] = len(names)
                names.append(path)
        old_count = len(self.names)
        pairs = [(ops.get(names[scope]), scope) for scope in range(old_count, len(names))]
        pairs += [(ops[op], self.index[op]) for op in op_names if op in self.index] if old_count > 1 else []
        homes = np.concatenate([self.scope_of, np.asarray([index[path] for path in paths], np.int32)])
        for number, scope in pairs:
            if number is not None:
                homes[number] = scope
        return Scopes(names, np.asarray(parents, np.int32), homes, index)

    def named(self, name: str) -> list[str]:
        """Returns the scopes with this name, or with a path that ends with it; case is ignored, and so is the root.

        TensorFlow may have added a number to the name.

        Example:
            >>> Scopes.from_names(["a/conv/x", "a/Conv_1/y", "b/conv2/z"]).named("conv")
            ['a/conv', 'a/Conv_1']
            >>> Scopes.from_names(["a/b/x"]).named("a/b")
            ['a/b']
        """
        end, (paths, starts) = f"/{re.escape(name.lower())}(_[0-9]+)?", self._paths
        positions = [found.start() for found in re.finditer(f"{end}\n", paths)]
        numbers = dict.fromkeys(np.searchsorted(starts, positions, "right").tolist())
        whole = re.compile(f".*{end}", re.DOTALL)  # `\n` may be in a name
        return [self.names[i] for i in numbers if whole.fullmatch(f"/{self.names[i].lower()}")]

    @cached_property
    def _paths(self) -> tuple[str, Ints]:
        """The scopes except the root in lower case, one line each after a slash; and the starts of these lines."""
        lines = [f"/{name.lower()}\n" for name in self.names[1:]]
        return "".join(lines), np.cumsum([0, *map(len, lines)])[:-1]

    @cached_property
    def _preorder(self) -> tuple[Ints, Ints]:
        """For each scope, its place in preorder, and the place after its last descendant."""
        parents = self.parents.tolist()
        size = [1] * len(parents)
        for i in range(len(parents) - 1, 0, -1):
            size[parents[i]] += size[i]
        start, following = [0] * len(parents), [1] * len(parents)
        for i in range(1, len(parents)):
            parent = parents[i]
            start[i] = following[parent]
            following[parent] += size[i]
            following[i] = start[i] + 1
        begin = np.asarray(start, np.int32)
        return begin, begin + np.asarray(size, np.int32)

    @cached_property
    def order(self) -> Ints:
        """All ops by scopes in preorder: first the ops directly in a scope, then the ops below it, in graph order."""
        return np.argsort(self._preorder[0][self.scope_of], kind="stable").astype(np.int32)

    @cached_property
    def _places(self) -> Ints:
        """For each place in preorder, the number of ops in `order` before its scope; and the number of all ops."""
        begin, _ = self._preorder
        return _counts_below(begin[self.scope_of], len(begin))

    @cached_property
    def spans(self) -> Ints:
        """For each scope, the start and end of its ops in `order`, including all levels below."""
        return self._places[np.stack(self._preorder, axis=1)]

    @cached_property
    def counts(self) -> Ints:
        """Number of ops in each scope, all levels below included."""
        return np.diff(self.spans, axis=1)[:, 0]

    @cached_property
    def _children(self) -> tuple[Ints, Ints]:
        above = self.parents[1:]
        return _counts_below(above, len(self.names)), (np.argsort(above, kind="stable") + 1).astype(np.int32)

    def children(self, scope: int) -> list[int]:
        """Returns the child scopes of a scope, in order of first appearance."""
        ends, below = self._children
        numbers: list[int] = below[ends[scope] : ends[scope + 1]].tolist()
        return numbers

    def ops(self, scope: int) -> list[int]:
        """Returns the ops that are directly in a scope, in graph order."""
        at = int(self._preorder[0][scope])
        numbers: list[int] = self.order[self._places[at] : self._places[at + 1]].tolist()
        return numbers

    def ops_below(self, scope: int) -> Ints:
        """Returns the ops of a scope and of all scopes below it."""
        a, b = self.spans[scope]
        return self.order[a:b]

    def op_numbers(self, scope: str) -> list[int]:
        """Returns the numbers of the ops in `scope` and in all scopes below it, in graph order.

        Example:
            >>> Scopes.from_names(["a/b", "c", "a/d/e"]).op_numbers("a")
            [0, 2]
        """
        number = self.index.get(scope.rstrip("/"))
        return [] if number is None else sorted(self.ops_below(number).tolist())

    def mask(self, scope: str) -> NDArray[np.bool_]:
        """Returns a mask of the ops in `scope` and in all scopes below it; all false if the scope does not exist."""
        out = np.zeros(len(self.scope_of), np.bool_)
        number = self.index.get(scope.rstrip("/"))
        if number is not None:
            out[self.ops_below(number)] = True
        return out


def _counts_below(numbers: Ints, size: int) -> Ints:
    """Returns for each number below `size` how many of the numbers are smaller; and how many numbers there are."""
    out = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(numbers, minlength=size), out=out[1:])
    return out


#: The characters that TensorFlow refuses in the name of an op: ``>`` must be followed by a letter, a digit or a dot.
_ODD = re.compile(r"[^A-Za-z0-9_.\-/>]|>(?![A-Za-z0-9.])")
_FIRST = re.compile(r"[A-Za-z0-9.]")


#: Variable and training collections: a training loop, a Saver or an initializer must find their entries.
UNSCOPED_COLLECTIONS = frozenset(
    {
        "variables", "local_variables", "trainable_variables", "model_variables", "metric_variables",
        "moving_average_variables", "concatenated_variables", "trainable_resource_variables", "eval_step",
        "global_step", "train_op", "losses", "regularization_losses", "update_ops", "summaries", "table_initializer",
        "queue_runners", "init_op", "local_init_op", "ready_op", "ready_for_local_init_op", "cond_context",
        "while_context", "asset_filepaths", "saveable_objects", "resources", "local_resources",
    }
)  # fmt: skip


#: The collections in which optimizers look for the variables to train.
TRAINABLE_LISTS = frozenset({"trainable_variables", "trainable_resource_variables"})

#: The collections with at most one entry: a training loop raises an error if it finds two.
SINGLES = frozenset({"global_step", "init_op", "local_init_op", "ready_op", "ready_for_local_init_op"})

#: The collections that collections="variables" keeps: the two lists that the copier of 2016 did not rename.
VARIABLE_LISTS = frozenset({"variables", "trainable_variables"})


def join_scope(scope: str, name: str) -> str:
    """Returns the name that `name` has under a scope; an empty scope leaves it as it is.

    Example:
        >>> join_scope("copy", "a/b"), join_scope("", "a/b")
        ('copy/a/b', 'a/b')
    """
    return f"{scope}/{name}" if scope else name


def valid_name(name: str, empty_parts: bool = False) -> bool:
    """Returns whether a plan can give this name to an op or a name scope, so that TensorFlow imports it.

    Only new names are checked, never the names of existing ops.

    Args:
        name: the name.
        empty_parts: whether to accept ``a//b`` too, as TensorFlow does; if a user types it, it is a mistake.

    Example:
        >>> valid_name("copy/a"), valid_name("Addons>Mul"), valid_name("a b"), valid_name("a//b")
        (True, True, False, False)
    """
    whole = empty_parts or all(name.split("/"))
    return whole and _FIRST.match(name) is not None and _ODD.search(name) is None


def invalid_name_fault(name: str, what: str, is_used: Callable[[str], object]) -> tuple[str, str]:
    """Returns the problem of a name that TensorFlow does not accept, and a suggestion.

    Args:
        name: the name.
        what: the kind of name, with its article.
        is_used: returns whether a name is in use.

    Example:
        >>> invalid_name_fault("block/first conv", "a name of an op", {"block/first_conv"}.__contains__)[0]
        "'block/first conv' is not a name of an op: ' ' is not allowed in it"
        >>> invalid_name_fault("block/first conv", "a name of an op", {"block/first_conv"}.__contains__)[1]
        "Use letters, digits, '_', '.', '-' and '/' between parts, for example 'block/first_conv_2'"
    """
    odd = _ODD.search(name)
    if odd:
        why = f"{odd.group()!r} is not allowed in it"
    elif not all(name.split("/")):
        why = f"{'a part of it' if name else 'it'} is empty"
    else:
        why = f"it begins with {name[:1]!r}"
    like = _clean_name(name, "")
    free = free_name(like if valid_name(like) else "other", is_used)
    suggestion = f"Use letters, digits, '_', '.', '-' and '/' between parts, for example {free!r}"
    return f"{name!r} is not {what}: {why}", suggestion


def name_problem(
    name: str, is_used: Callable[[str], object], title: str, what: str = "a name of an op", key: str = "name"
) -> tuple[str, str] | None:
    """Returns the problem of a name that a plan cannot give, and a suggestion; None if it can.

    Args:
        name: the name.
        is_used: returns whether a name is in use.
        title: the title of the graph.
        what: the use of the name, with its article.
        key: the argument with the name.

    Example:
        >>> name_problem("a", {"a"}.__contains__, "graph")
        ("the name 'a' is taken in graph", "Type name='a_2', which is free")
    """
    if not valid_name(name):
        return invalid_name_fault(name, what, is_used)
    if is_used(name):
        return f"the name {name!r} is taken in {title}", f"Type {key}={free_name(name, is_used)!r}, which is free"
    return None


def free_name(preferred: str, is_used: Callable[[str], object], as_tensorflow: bool = False) -> str:
    """Returns `preferred`, or the first free name with a number, such as ``wish_2``; ``wish_7`` becomes ``wish_8``.

    Args:
        preferred: the preferred name.
        is_used: returns whether a name is in use, as `Graph.is_name_used` does.
        as_tensorflow: count as TensorFlow does, from 1 and after an existing number: ``wish_1``, ``wish_7_1``.

    Example:
        >>> used = {"copy", "x_7"}
        >>> [free_name(wish, used.__contains__) for wish in ("a", "copy", "x_7")]
        ['a', 'copy_2', 'x_8']
        >>> [free_name(wish, used.__contains__, as_tensorflow=True) for wish in ("a", "copy", "x_7")]
        ['a', 'copy_1', 'x_7_1']
    """
    stem, first = preferred, 1 if as_tensorflow else 2
    match = None if as_tensorflow else re.fullmatch(r"(.*)_(\d+)", preferred)
    if match:
        stem, first = match[1], int(match[2]) + 1
    return next(name for name in chain([preferred], (f"{stem}_{n}" for n in count(first))) if not is_used(name))


def placeholder_name(op: str, port: int, used_names: Container[str]) -> str:
    """Returns a name for the stand-in of output `port` of `op`: the op's own name if it is free."""
    name = op if port == 0 else f"{op}_{port}"
    base, n = name, 1
    while name in used_names:
        name, n = f"{base}_in{n if n > 1 else ''}", n + 1
    return name


def tensor_name(obj: Any) -> str:
    """Returns the name of a tensor given by name or object; an op means its output 0."""
    name = str(getattr(obj, "name", obj))
    return name if ":" in name else f"{name}:0"


def op_name(obj: Any) -> str:
    """Returns the name of an op that is given by name, as an op, as one of its tensors, or as ``^name``."""
    text = obj if isinstance(obj, str) else str(getattr(obj, "name", obj))
    return text.lstrip("^").partition(":")[0]


def outer_name(name: str, names: Container[str]) -> str | None:
    """Returns the op with a name, or the call around it; None if neither is known.

    Example:
        >>> outer_name("a/call/b/c", {"a/call"}), outer_name("x", {"x"}), outer_name("y", {"x"})
        ('a/call', 'x', None)
    """
    while name and name not in names:
        name = name.rpartition("/")[0]
    return name or None


def scopes_around(name: str) -> Iterator[str]:
    """Yields the scopes that contain a name, the innermost first.

    Example:
        >>> list(scopes_around("a/b/c"))
        ['a/b', 'a']
    """
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def shared_scope(names: Sequence[str]) -> str:
    """Returns the innermost scope that contains all names.

    Example:
        >>> shared_scope(["a/b/c", "a/b/d/e"]), shared_scope(["a/b", "c"]), shared_scope([])
        ('a/b', '', '')
    """
    if not names:
        return ""
    first, last = min(names).split("/")[:-1], max(names).split("/")[:-1]
    same = [a for k, a in enumerate(first) if last[: k + 1] == first[: k + 1]]
    return "/".join(same)


def partitioned_name(variable: str, part: str, new_part: str) -> str:
    """Returns the name of a partitioned variable after one of its parts was renamed.

    Args:
        variable: the old name of the variable, which is its name in a checkpoint.
        part: the old name of the part.
        new_part: the new name of the part.

    Example:
        >>> name = partitioned_name("net/w", "net/w/part_0", "copy/net/w/part_0")
        >>> name, partitioned_name("w", "w/part_0", "kernel/part_0")
        ('copy/net/w', 'kernel')
    """
    if new_part.endswith(part):
        return new_part.removesuffix(part) + variable
    tail = part.removeprefix(variable)
    return new_part.removesuffix(tail) if part.startswith(variable) and new_part.endswith(tail) else variable


def compose_renamings(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Returns the effect of two renamings, one after the other.

    Example:
        >>> compose_renamings({"a": "b", "c": "d"}, {"b": "e", "f": "g"})
        {'b': 'e', 'f': 'g', 'a': 'e', 'c': 'd'}
    """
    return {**second, **{was: second.get(now, now) for was, now in first.items()}}


def rename_input(text: str, names: Mapping[str, str]) -> str:
    """Returns an input or control input of a NodeDef with the new name of its source op, if there is one.

    Example:
        >>> rename_input("a/b:1", {"a/b": "c"}), rename_input("^a/b", {"a/b": "c"}), rename_input("a:1", {"a/b": "c"})
        ('c:1', '^c', 'a:1')
    """
    op = op_name(text)
    new = names.get(op, op)
    return text if new == op else text.replace(op, new, 1)


def tensors_by_key(objects: Any, keys: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Returns name -> tensor name for one or more tensors, or a dict. The default names are those of the ops.

    Args:
        objects: a tensor, several, or a dict of their names; None for no tensor.
        keys: tensor -> its name, for the tensors that already have a name.

    Example:
        >>> tensors_by_key("a/b:0"), tensors_by_key({"x": "c:1"}), tensors_by_key(["a/b", "c/b:0", "c/b:1"])
        ({'b': 'a/b:0'}, {'x': 'c:1'}, {'b': 'a/b:0', 'b_2': 'c/b:0', 'b_1': 'c/b:1'})
        >>> tensors_by_key(["a/b:0", "c:0"], {"c:0": "b"})
        {'b_2': 'a/b:0', 'b': 'c:0'}
    """
    if objects is None:
        return {}
    if isinstance(objects, Mapping):
        return {str(key): tensor_name(tensor) for key, tensor in objects.items()}
    tensors = list(map(tensor_name, objects if isinstance(objects, (list, tuple)) else [objects]))
    reserved = {keys[tensor]: tensor for tensor in tensors if tensor in keys}
    out: dict[str, str] = {}
    for tensor in tensors:
        name = keys.get(tensor) or tensor.removesuffix(":0").rpartition("/")[2].replace(":", "_")
        out[free_name(name, lambda one: one in out or reserved.get(one, tensor) != tensor)] = tensor  # noqa: B023
    return out


def argument_names(names: Iterable[str]) -> dict[str, str]:
    """Returns name -> the name of an argument of a Python function, for names that may not be Python identifiers.

    Example:
        >>> argument_names(["x", "a-b", "a_b", "class"])
        {'x': 'x', 'a-b': 'a_b', 'a_b': 'a_b_2', 'class': 'arg_class'}
    """
    out: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name)
        plain = f"arg_{plain}" if not plain.isidentifier() or keyword.iskeyword(plain) else plain
        out[name] = free_name(plain, [*out.values()].__contains__)
    return out


def plain_name(name: str, prefix: str) -> str:
    """Converts the name of a variable or an argument, without its output, to a valid name of an op.

    Args:
        name: the name.
        prefix: the first letters of the result if the name begins with a character that TensorFlow refuses there.

    Example:
        >>> plain_name("my net/w:0", "arg"), plain_name("_x", "arg")
        ('my_net/w', 'arg_x')
    """
    return _clean_name(name.removesuffix(":0"), prefix)


def _clean_name(name: str, prefix: str) -> str:
    clean = "/".join(part for part in _ODD.sub("_", name).split("/") if part)
    return clean if valid_name(clean) else prefix + (clean if prefix else clean.lstrip("_->"))


def begins_with(names: Sequence[str], first: Sequence[str]) -> bool:
    """Returns whether a list of names begins with all names of another list, in the same order.

    Example:
        >>> begins_with(["a", "b"], ["a"]), begins_with(["a"], ["a", "b"])
        (True, False)
    """
    return names is first or list(names[: len(first)]) == list(first)


def expand_wildcard(old: str, new: str, names: Iterable[str], request: str) -> dict[str, str]:
    """Returns old name -> new name for the names that fit `old`. The ``*`` in `old` and `new` means the same text.

    Raises:
        PlanError: if `old` or `new` does not have exactly one ``*``.

    Example:
        >>> expand_wildcard("a/*/w", "b/*/v", ["a/conv/w", "a/w"], "rename()")
        {'a/conv/w': 'b/conv/v'}
    """
    if old.count("*") != 1 or new.count("*") != 1:
        problem = f"{old!r} and {new!r} do not both have exactly one *"
        raise PlanError(request, problem, "Type {'old/*': 'new/*'}: * is the same text in both")
    head, _, tail = old.partition("*")
    least = len(head) + len(tail)
    fits = (name for name in names if len(name) >= least and name.startswith(head) and name.endswith(tail))
    return {name: new.replace("*", name[len(head) : len(name) - len(tail)]) for name in fits}


_PART = re.compile(
    r"(job):([A-Za-z0-9_]+)|(replica|task):(\d+|\*)|device:([A-Za-z_]+)(?::(\d+|\*))?|([A-Za-z_]+):(\d+|\*)"
)
_ORDER = ("job", "replica", "task", "device")


def device_parts(name: str) -> dict[str, str] | None:
    """Returns a device name by its parts, or None if it is not a device name.

    Example:
        >>> device_parts("/job:ps/task:1/gpu:0")
        {'job': 'ps', 'task': '1', 'device': 'GPU:0'}
        >>> device_parts("gpu zero") is None
        True
    """
    out: dict[str, str] = {}
    if name and not name.startswith("/"):
        return None
    for piece in filter(None, name.split("/")):
        match = _PART.fullmatch(piece)
        if not match:
            return None
        job, job_name, unit, number, kind, place, old_kind, old_place = match.groups()
        if job:
            out["job"] = job_name
        elif unit:
            out[unit] = number
        elif kind:
            out["device"] = kind.upper() + (f":{place}" if place else "")
        elif old_kind.lower() in ("cpu", "gpu", "tpu"):  # the short form, for example /gpu:0
            out["device"] = f"{old_kind.upper()}:{old_place}"
        else:
            return None
    return out


def device_text(fields: Mapping[str, str]) -> str:
    """Returns the full name of a device given by its parts.

    Example:
        >>> device_text({"device": "GPU:0", "job": "ps"})
        '/job:ps/device:GPU:0'
    """
    return "".join(f"/{key}:{fields[key]}" for key in _ORDER if key in fields)


def substitute_device(name: str, rules: Sequence[tuple[str, str]]) -> str:
    """Returns the new device of an op on device `name`. The first fitting rule replaces the parts of `old`.

    Args:
        name: the device of the op; empty if it has none.
        rules: (old, new). A rule fits if the device of the op has every part of `old`; ``"*"`` fits every op.

    Example:
        >>> substitute_device("/job:ps/task:1/device:GPU:0", [("/gpu:0", "/cpu:0")])
        '/job:ps/task:1/device:CPU:0'
        >>> substitute_device("/gpu:1", [("/gpu:0", "/cpu:0")]), substitute_device("/gpu:1", [("*", "")])
        ('/gpu:1', '')
    """
    here = device_parts(name)
    for old, new in rules:
        target = device_parts(new)
        if target is None:
            continue
        if old == "*":
            return device_text(target)
        required = device_parts(old)
        if here is not None and required and all(_fits(here.get(key), value) for key, value in required.items()):
            rest = {key: value for key, value in here.items() if key not in required}
            return device_text({**rest, **target})
    return name


def colocate(node: TFNodeDef, names: Mapping[str, str]) -> None:
    """Renames the ops that a NodeDef is colocated with; colocations with ops without a new name are dropped.

    Args:
        node: the NodeDef, which is changed.
        names: name of an op that others are colocated with -> its new name.
    """
    if "_class" not in node.attr:
        return
    places = node.attr["_class"].list.s
    ops = [place.removeprefix(b"loc:@").decode(errors="replace") for place in places]
    places[:] = [f"loc:@{names[op]}".encode() for op in ops if op in names]
    if not places:
        del node.attr["_class"]


def _fits(device: str | None, required: str) -> bool:
    return device is not None and (device == required or device.partition(":")[0] == required)
