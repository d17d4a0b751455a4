"""Reads files into protos, locates damage in files, and finds the newest checkpoint of a folder by its state file."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from ...errors import OpenError, counted, few, nearest
from ...graph.arrays import size_text
from ...graph.open_graph import KINDS
from ..messages import checkpoint_state_pb2, graph_pb2, meta_graph_pb2, node_def_pb2, saved_model_pb2
from ..protos import decode

#: The name of the state file of a folder, and the maximum number of bytes that are read.
_STATE = "checkpoint"
_MOST = 1 << 20


def state_checkpoints(folder: str) -> list[str] | None:
    """Returns the checkpoints in the state file of a folder, newest first; None if there is no state file.

    A path outside of the folder is replaced by its file name in the folder. The folder may have been moved, and an
    untrusted folder must not refer to files elsewhere.

    Args:
        folder: its path.

    Raises:
        OSError, UnicodeDecodeError, text_format.ParseError: the state file cannot be read.
    """
    path = os.path.join(folder, _STATE)
    if not os.path.isfile(path) or leads_out(path, folder):
        return None
    with open(path, "rb") as file:
        state = text_format.Parse(file.read(_MOST).decode(), checkpoint_state_pb2.CheckpointState())
    names = [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
    return list(dict.fromkeys(_inside(folder, name) for name in names if os.path.basename(name)))


def newest_checkpoint(folder: str) -> str | None:
    """Returns the newest checkpoint in the state file of a folder, if the checkpoint exists; otherwise None.

    Args:
        folder: its path.
    """
    try:
        checkpoints = state_checkpoints(folder) or []
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    return checkpoints[0] if checkpoints and is_there(checkpoints[0]) else None


def is_there(prefix: str) -> bool:
    """Returns whether a checkpoint exists: an index file, or the file or files of the oldest format.

    Args:
        prefix: its path without a suffix.
    """
    return os.path.exists(prefix + ".index") or bool(glob.glob(prefix))


def _inside(folder: str, name: str) -> str:
    """Returns the path of a checkpoint in a folder, from a path that was written for any machine or folder."""
    path, root = os.path.normpath(os.path.join(folder, name)), os.path.normpath(folder)
    return path if path.startswith(root + os.sep) else os.path.join(folder, os.path.basename(name))


def leads_out(path: str, folder: str) -> bool:
    """Returns whether a path leads out of a folder after links are followed."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) != root


def linked_away(prefix: str, folder: str) -> str:
    """Returns the problem if a file of a checkpoint is a link to a place outside of a folder; empty otherwise.

    Args:
        prefix: path of the checkpoint without a suffix.
        folder: the folder of the checkpoint.
    """
    files = [prefix, prefix + ".index", *glob.glob(glob.escape(prefix) + ".data-*")]
    for path in files:
        if os.path.exists(path) and leads_out(path, folder):
            return f"its file {os.path.basename(path)!r} is a link that leads out of its folder"
    return ""


def refuse_linked_away(prefix: str, folder: str, request: str) -> None:
    """Refuses a checkpoint with files outside of its folder.

    Raises:
        OpenError: a file of the checkpoint is a link that leads out of the folder.
    """
    problem = linked_away(prefix, folder)
    if problem:
        how = "If you know where it leads, give the path of the checkpoint itself, or copy it: cp -RL"
        raise OpenError(request, f"checkpoint {os.path.basename(prefix)!r} is not safe: {problem}", how)


_MAGIC = {
    b"\x89HDF": "an HDF5 file (old Keras weights)",
    b"PK\x03\x04": "a zip file (an archive, or a Keras model, whose name ends in .keras)",
    b"\x1f\x8b": "a gzip file inside a gzip file",
    b"\x93NUM": "a NumPy file",
    b"GGUF": "a GGUF model",
    b"\x7fELF": "a program",
    b"%PDF": "a PDF",
    b"\x89PNG": "a PNG picture",
}
#: The maximum size for protobuf. Gzip files are unpacked up to a size limit; beyond it, only if the ratio of unpacked
#: to packed size is below a limit.
MOST, TRUSTED, DENSEST = 2**31 - 1, 256 << 20, 200
_PIECE = 16 << 20
#: The first bytes of a SavedModel that is split into parts, a file in the Riegeli format.
_SPLIT = b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"
#: The first bytes of a small text that Git LFS puts in the place of a file.
_LFS = b"version https://git-lfs."


def refuse_unreachable(path: Path, request: str) -> None:
    """Refuses a path that cannot be accessed.

    Raises:
        OpenError: the path is too long, or there is no permission for a folder of it.
    """
    try:
        path.exists()
    except OSError as error:
        raise OpenError(
            request, f"this path cannot be read ({error.strerror})", "Check the path and its permissions"
        ) from error


def read_bytes(path: Path, request: str) -> bytes:
    """Returns the content of a file, unpacked if it is gzipped.

    Raises:
        OpenError: the file does not exist, cannot be read, is a damaged gzip file, or is too large for a graph. The
            size is checked before the file is read.
    """
    if not path.exists():
        folder = path.parent
        names = [p.name for p in folder.iterdir() if p.name[0] != "."] if folder.is_dir() else []
        close = nearest(path.name, names)
        if not folder.is_dir():
            hint = f"There is no folder {str(folder)!r} either; check the path"
        elif path.name + ".meta" in names:
            hint = f"That is the name of a checkpoint; its graph is {str(path) + '.meta'!r}"
        elif close:
            hint = "Did you mean " + " or ".join(repr(str(folder / c)) for c in close) + "?"
        else:
            hint = f"Check the path: {str(folder)!r} holds {few(sorted(names), 8) or 'nothing'}"
        raise OpenError(request, "there is no such file", hint)
    try:
        _refuse_large(path.stat().st_size, request)
        data = path.read_bytes()
        return _unpack(data, request) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OpenError(request, f"the gzip file is broken ({error})", "Fetch or pack it again") from error
    except OSError as error:
        raise OpenError(request, f"the file cannot be read ({error.strerror})", "Check its permissions") from error


def _refuse_large(size: int, request: str, unpacked: str = "") -> None:
    if size > MOST:
        problem = f"it has {size_text(size)}{unpacked}, but a graph file is limited to {size_text(MOST)}"
        raise OpenError(request, problem, "Write it again with its weights as variables, not as constants")


def _unpack(data: bytes, request: str) -> bytes:
    """Unpacks a gzip file piece by piece, and stops if it was made to fill the memory."""
    pieces, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            _refuse_large(size, request, " or more, unpacked")
            if size > TRUSTED and size > DENSEST * len(data):
                problem = (
                    f"{size_text(len(data))} unpack to {size_text(size)} or more, as in a file made to fill memory"
                )
                raise OpenError(request, problem, "If you trust the file, unpack it with gunzip, and open the result")
    return b"".join(pieces)


def parse(data: bytes, path: Path, request: str) -> Any:
    """Returns the GraphDef, MetaGraphDef or SavedModel in these bytes, in binary or text form.

    Raises:
        OpenError: the bytes are something else, or are cut short or damaged; the message contains the position.
    """
    if not data:
        raise OpenError(request, "the file is empty", f"Give {KINDS}")
    for magic, file_kind in _MAGIC.items():
        if data.startswith(magic):
            raise OpenError(request, f"this is {file_kind}, not a TensorFlow graph", f"Give {KINDS}")
    if data.startswith(_LFS):
        raise OpenError(request, "this is a pointer of Git LFS, not the file itself", "Fetch the file: git lfs pull")
    if data.startswith(_SPLIT) or path.name.removesuffix(".gz").endswith(".cpb"):
        problem = "this is a SavedModel split into parts (saved_model.cpb), which TensorFlow for Python cannot read"
        how = "Write it again as saved_model.pb in the code that made it: tf.saved_model.save(model, folder), without "
        weights = "experimental_image_format. A graph over 2 GB fits with its weights as variables, not as constants"
        raise OpenError(request, problem, how + weights)
    part = re.fullmatch(r"(.+)\.(?:index|data-\d+-of-\d+)", path.name)
    if part:
        how = f"Open its graph, {str(path.with_name(part[1] + '.meta'))!r}; ed.restore(...) loads the values"
        raise OpenError(request, "this is a part of a checkpoint, which holds values but no graph", how)
    if data[4:8] == b"TFL3":
        raise OpenError(request, "this is a TensorFlow Lite model", "Give the graph it was converted from")
    order = _guess(path)
    if _is_text(data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"the text is broken at byte {error.start}, which is not UTF-8"
            raise OpenError(request, problem, "Fix it there, or write the graph out again") from error
        return _parse_text(text, order, request)
    for proto_type in order:
        with suppress(DecodeError):
            proto = decode(proto_type, data)
            if _makes_sense(proto):
                return proto
    raise _why_broken(data, request)


def _guess(path: Path) -> list[Any]:
    name = path.name.removesuffix(".gz")
    graph, meta, saved = graph_pb2.GraphDef, meta_graph_pb2.MetaGraphDef, saved_model_pb2.SavedModel
    if name.startswith("saved_model.pb"):
        return [saved, graph, meta]
    if name.endswith((".meta", ".meta.txt", ".metatxt")):
        return [meta, graph, saved]
    return [graph, saved, meta]


def _is_text(data: bytes) -> bool:
    head = data[:4096]
    if b"\x00" in head:
        return False
    word = head.decode("utf-8", "ignore").lstrip()[:200]
    return bool(word) and all(c.isprintable() or c.isspace() for c in word) and (word[0].isalpha() or word[0] == "#")


def _parse_text(text: str, order: list[Any], request: str) -> Any:
    problems = []
    for proto_type in order:
        try:
            proto = text_format.Parse(text, proto_type())
        except text_format.ParseError as error:
            problems.append(str(error))
        except RecursionError:
            problem = "its messages are nested too deeply: protobuf reads up to 100 levels"
            raise OpenError(request, problem, "Write the graph out again in the code that made it") from None
        else:
            if _makes_sense(proto):
                return proto
    looks_alike = any(word in text[:20_000] for word in ("node {", "node:", "graph_def", "meta_graphs", "op:"))
    where = problems[0].replace("tensorflow.", "") if problems else "no op in it"
    if not looks_alike:
        raise OpenError(request, f"this is text, but not of a TensorFlow graph ({where})", f"Give {KINDS}")
    raise OpenError(
        request, f"the text is broken at line and column {where}", "Fix it there, or write the graph out again"
    )


def _makes_sense(proto: Any) -> bool:
    """Whether a parsed proto is a valid graph: protobuf parses many wrong files without an error."""
    if hasattr(proto, "meta_graphs"):
        return len(proto.meta_graphs) > 0 and any(m.graph_def.node for m in proto.meta_graphs)
    graph = proto.graph_def if hasattr(proto, "graph_def") else proto
    nodes = graph.node
    if not nodes:
        return len(graph.library.function) > 0
    return all(n.name and n.op and n.op.isprintable() for n in nodes[:50])


def _why_broken(data: bytes, request: str) -> OpenError:
    """Reads the outermost fields of the bytes, and returns an error with the first invalid position."""
    at, count, last = 0, 0, ""
    size = len(data)
    while at < size:
        start = at
        tag, at = _varint(data, at)
        if tag is None or tag & 7 not in (0, 1, 2, 5) or tag >> 3 not in (1, 2, 3, 4, 5):
            break
        if tag & 7 == 0:
            value, at = _varint(data, at)
            if value is None:
                break
            continue
        if tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
            continue
        length, at = _varint(data, at)
        if length is None:
            break
        if at + length > size:
            if not count and length > 64 * size:
                break
            after = f", after op {last!r}" if last else ""
            return OpenError(
                request,
                f"the file is cut short: part {count + 1}, which starts at byte {start}{after}, needs "
                f"{counted(at + length - size, 'bytes')} more than the {size} there are",
                "Fetch or write the file again",
            )
        if tag >> 3 == 1:
            try:
                node = decode(node_def_pb2.NodeDef, data[at : at + length])
                last = node.name or last
            except (DecodeError, UnicodeDecodeError):
                return OpenError(
                    request,
                    f"op number {count + 1}, at byte {start}, is damaged"
                    + (f" (the one before is {last!r})" if last else ""),
                    "Fetch or write the file again",
                )
            count += 1
        at += length
    if count:
        return OpenError(request, f"byte {at} of {size} is damaged, after op {last!r}", "Fetch or write the file again")
    return OpenError(request, "this is not a TensorFlow graph", f"Give {KINDS}")


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return None, at


def saved_model_file(folder: Path, request: str) -> Path:
    """Returns the ``saved_model.pb``, ``.pbtxt`` or ``.cpb`` of a folder, or the ``.meta`` of its latest checkpoint.

    Raises:
        OpenError: the folder has no such file; the message names its other graph files.
    """
    for name in ("saved_model.pb", "saved_model.pbtxt", "saved_model.pb.gz", "saved_model.pbtxt.gz", "saved_model.cpb"):
        if (folder / name).exists():
            return folder / name
    latest = newest_checkpoint(str(folder))
    if latest is not None and os.path.exists(latest + ".meta"):
        return Path(latest + ".meta")
    names = sorted(os.listdir(folder))
    graphs = [n for n in names if n.removesuffix(".gz").endswith((".pb", ".pbtxt", ".meta"))]
    hint = f"Open {str(folder / graphs[0])!r} in it" if graphs else f"Give {KINDS}"
    raise OpenError(request, "this folder is not a SavedModel: it has no saved_model.pb", hint)
