"""Latest: which checkpoint a folder says is its newest: one inside of it, and no link that leads out of it."""

from __future__ import annotations

import glob
import os
from typing import Any

import tensorflow as tf
from google.protobuf import text_format

from ...errors import OpenError

#: What a folder's state file is called, and how much of it is read.
_STATE = "checkpoint"
_MOST = 1 << 20


def named(folder: str) -> list[str] | None:
    """Returns the checkpoints that a folder's state file names, newest first; None where it has no such file.

    Whatever path it gives for one, absolute or not, it is taken for one in this folder: a folder may have been moved
    since, and a stranger's must not lead to files elsewhere.

    Args:
        folder: its path.

    Raises:
        OSError, UnicodeDecodeError, text_format.ParseError: the state file cannot be read.
    """
    path = os.path.join(folder, _STATE)
    if not os.path.isfile(path) or leads_out(path, folder):
        return None
    with open(path, "rb") as file:
        found = text_format.Parse(file.read(_MOST).decode(), _empty_state())
    names = [found.model_checkpoint_path, *reversed(found.all_model_checkpoint_paths)]
    return list(dict.fromkeys(_inside(folder, name) for name in names if os.path.basename(name)))


def newest(folder: str) -> str | None:
    """Returns the checkpoint that a folder's state file names as the newest, where it is there; else None.

    Args:
        folder: its path.
    """
    try:
        found = named(folder) or []
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    return found[0] if found and is_there(found[0]) else None


def is_there(prefix: str) -> bool:
    """Returns whether there is a checkpoint: one of today has an index, one of the first form is files of its name.

    Args:
        prefix: its path without suffix.
    """
    return os.path.exists(prefix + ".index") or bool(glob.glob(prefix))


def _inside(folder: str, name: str) -> str:
    """The path of a checkpoint in a folder, whatever machine or folder its name was written for."""
    path, root = os.path.normpath(os.path.join(folder, name)), os.path.normpath(folder)
    return path if path.startswith(root + os.sep) else os.path.join(folder, os.path.basename(name))


def leads_out(path: str, folder: str) -> bool:
    """Returns whether a path, links followed, is not inside of a folder."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) != root


def linked_away(prefix: str, folder: str) -> str:
    """Returns which file of a checkpoint is a link that leads out of a folder, as a sentence; empty where none is.

    Args:
        prefix: path of the checkpoint without suffix.
        folder: the folder that it belongs to.
    """
    files = [prefix, prefix + ".index", *glob.glob(glob.escape(prefix) + ".data-*")]
    for path in files:
        if os.path.exists(path) and leads_out(path, folder):
            return f"its file {os.path.basename(path)!r} is a link that leads out of its folder"
    return ""


def refuse_linked_away(prefix: str, folder: str, asked: str) -> None:
    """Refuses a checkpoint of a folder that is not in it.

    Raises:
        OpenError: a file of it is a link that leads out.
    """
    wrong = linked_away(prefix, folder)
    if wrong:
        how = "Where you know what it leads to, give the path of the checkpoint itself, or copy it: cp -RL"
        raise OpenError(asked, f"of the checkpoint {os.path.basename(prefix)!r}, {wrong}", how)


def _empty_state() -> Any:
    # There is no other public way to this message.
    return type(tf.compat.v1.train.generate_checkpoint_state_proto(".", "model", ["model"]))()
