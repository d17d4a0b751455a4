"""Finds the newest checkpoint of a folder by its state file, and refuses files outside of the folder."""

from __future__ import annotations

import glob
import os

from google.protobuf import text_format

from ...errors import OpenError
from ..messages import checkpoint_state_pb2

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
