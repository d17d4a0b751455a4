"""Write: writes checkpoints in batches, and files that are written completely or not at all."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph import whole
from ...graph.sizes import size_text
from ...graph.whole import claim, flush, put, put_back, refuse_there, why
from ..importing import tf
from ..private.eager import eager
from ..run.errors import errors_as
from ..run.progress import Progress


@contextmanager
def beside(path: str, request: str, needed: int = 0) -> Iterator[str]:
    """Gives a new folder next to a future file; the folder is always removed afterwards.

    Args:
        path: the path of the future file.
        request: the request, for messages.
        needed: how many bytes at least will be written.

    Raises:
        PlanError: nothing can be written there.
    """
    parent = os.path.dirname(os.path.abspath(path))
    inside = False
    try:
        os.makedirs(parent, exist_ok=True)
        with whole.beside(path) as folder:
            inside = True
            yield folder
    except OSError as error:
        if not inside:
            problem, how = f"nothing can be written in {parent!r}: {why(error, parent)}", "Choose another path"
            raise PlanError(request, problem, how) from error
        problem, how = f"{path!r} cannot be written: {why(error, parent, needed)}", "The old file is unchanged"
        raise PlanError(request, problem, f"{how}; make room, or choose another path") from error


def put_file(new: str, path: str) -> None:
    """Moves a new file to a path, once it is on the disk; raises OSError, and then nothing has changed."""
    flush(new)
    os.replace(new, path)


def put_folder(new: str, path: str, request: str) -> None:
    """Moves a new folder to a path; it may only replace a SavedModel or an empty folder.

    Raises:
        PlanError: there is something else.
    """
    _refuse_other(path, request)
    flush(new)
    put([(new, path)], os.path.dirname(new))


def refuse_taken(path: str, kind: str, overwrite: bool, request: str) -> None:
    """Refuses a path before anything is written, if it exists and the user has not allowed to replace it.

    Args:
        path: the path, as in `Editor.save`.
        kind: the format.
        overwrite: whether it may be replaced.
        request: the request, for messages.

    Raises:
        PlanError: the path exists.
    """
    put_back(os.path.dirname(os.path.abspath(path)))
    if kind.startswith("saved_model"):
        _refuse_other(path, request)
    for file in _looked_for(path, kind):
        refuse_there(file, overwrite, request)


def claim_saved(path: str, kind: str) -> None:
    """Notes that this process has written these files, so that it may replace them.

    Args:
        path: the path, as in `Editor.save`.
        kind: the format.
    """
    for file in _looked_for(path, kind):
        claim(file)


def _looked_for(path: str, kind: str) -> list[str]:
    """The files by which a saved graph is found."""
    if kind.startswith("saved_model"):
        return glob.glob(os.path.join(glob.escape(path), f"{_MODEL}*"))
    if kind in ("graph_def", "tflite"):
        return [path]
    prefix = path.removesuffix(".index" if kind == "checkpoint" else ".meta")
    values = [f"{prefix}.index", *sorted(glob.glob(glob.escape(prefix) + ".data-*-of-*"))]
    return [*values, f"{prefix}.meta"] if kind == "meta_graph" else values


_MODEL = "saved_model.pb"


def _refuse_other(path: str, request: str) -> None:
    there = os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path))
    if there and not glob.glob(os.path.join(glob.escape(path), f"{_MODEL}*")):
        raise PlanError(request, f"{path!r} exists and is not a SavedModel", "Choose a new folder")


def write_checkpoint(
    prefix: str, values: Iterable[Mapping[str, Any]], keys: Mapping[str, tuple[str, str]], total: int, request: str
) -> None:
    """Writes a checkpoint that `tf.train.Saver` restores: one shard for each batch, only one of them in memory.

    Args:
        prefix: its path without suffix; an existing checkpoint is replaced once the new one is complete.
        values: batches of variable op name -> array.
        keys: variable op name -> (its name in the checkpoint, and its slice, or nothing).
        total: bytes of all values, for the bar.
        request: the request, for messages.

    Raises:
        PlanError: TensorFlow cannot write it.
    """
    saying = partial(_saying, request, os.path.dirname(os.path.abspath(prefix)), total)
    with beside(prefix, request, total) as folder, Progress("saving", total) as bar:
        shards: list[str] = []
        new = os.path.join(folder, "whole")
        for batch in values:
            shards.append(os.path.join(folder, f"part{len(shards)}"))
            with saying(), eager(), tf.device("/cpu:0"):
                tf.raw_ops.SaveV2(
                    prefix=shards[-1],
                    tensor_names=[keys[name][0] for name in batch],
                    shape_and_slices=[keys[name][1] for name in batch],
                    tensors=[tf.constant(value) for value in batch.values()],
                )
            bar.step(sum(np.asarray(value).nbytes for value in batch.values()))
        with saying(), eager():
            tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=shards, destination_prefix=new, delete_old_dirs=False)
        put_checkpoint(new, prefix)


def read_back(prefix: str, keys: Iterable[str], request: str) -> None:
    """Reads the values of a checkpoint, one by one, with TensorFlow, which verifies their checksums.

    Raises:
        PlanError: a value is missing or damaged.
    """
    kinds = (tf.errors.OpError, ValueError, RuntimeError, IndexError)
    problem, suggestion = "TensorFlow cannot read the written checkpoint", "Write it again, to a disk with enough room"
    with errors_as(PlanError, request, problem, suggestion, *kinds):
        reader = tf.train.load_checkpoint(prefix)
        for key in dict.fromkeys(keys):
            reader.get_tensor(key)


def _saying(request: str, folder: str, needed: int) -> AbstractContextManager[None]:
    kinds = (tf.errors.OpError, OSError, ValueError)
    room = f"{size_text(needed)} needed, {size_text(shutil.disk_usage(folder).free)} free"
    return errors_as(
        PlanError, request, f"TensorFlow cannot write it ({room})", "Make room, or choose another path", *kinds
    )


def put_checkpoint(new: str, prefix: str, *more: tuple[str, str]) -> None:
    """Moves all files of a checkpoint to their places, the index last, or none; removes older shards.

    Args:
        new, prefix: the current and the final path, without suffix.
        more: (current path, final path) of additional files, such as its MetaGraph.

    Raises:
        OSError: they cannot be moved; then nothing has changed.
    """
    shards = sorted(glob.glob(glob.escape(new) + ".data-*"))
    moves = [*more, *((path, prefix + path.removeprefix(new)) for path in [*shards, new + ".index"])]
    for path, _ in moves:
        flush(path)
    kept = {to for _, to in moves}
    gone = [path for path in glob.glob(glob.escape(prefix) + ".data-*-of-*") if path not in kept]
    put(moves, os.path.dirname(new), gone)
