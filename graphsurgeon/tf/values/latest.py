"""Latest: the newest checkpoint according to a folder's state file: inside the folder, and not a link out of it."""

from __future__ import annotations

import glob
import os

from google.protobuf import text_format

from ...errors import OpenError
from ..messages import checkpoint_state_pb2

#: The name of a folder's state file, and how much of it is read.
_STATE = "checkpoint"
_MOST = 1 << 20


def named(folder: str) -> list[str] | None:
    """Returns the checkpoints that a folder's state file names, newest first; None if there is no such file.

    Each path counts as one in this folder, absolute or not: a folder may have been moved, and that of a stranger must
    not lead to files elsewhere.

    Args:
        folder: its path.

    Raises:
        OSError, UnicodeDecodeError, text_format.ParseError: the state file cannot be read.
    """
    path = os.path.join(folder, _STATE)
    if not os.path.isfile(path) or leads_out(path, folder):
        return None
    with open(path, "rb") as file:
        found = text_format.Parse(file.read(_MOST).decode(), checkpoint_state_pb2.CheckpointState())
    names = [found.model_checkpoint_path, *reversed(found.all_model_checkpoint_paths)]
    return list(dict.fromkeys(_inside(folder, name) for name in names if os.path.basename(name)))


def newest(folder: str) -> str | None:
    """Returns the newest checkpoint according to a folder's state file, if it exists; else None.

    Args:
        folder: its path.
    """
    try:
        found = named(folder) or []
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    return found[0] if found and is_there(found[0]) else None


def is_there(prefix: str) -> bool:
    """Returns whether a checkpoint exists: an index file, or in the oldest format a file or files of its name.

    Args:
        prefix: its path without a suffix.
    """
    return os.path.exists(prefix + ".index") or bool(glob.glob(prefix))


def _inside(folder: str, name: str) -> str:
    """The path of a checkpoint in a folder, whatever machine or folder its name was written for."""
    path, root = os.path.normpath(os.path.join(folder, name)), os.path.normpath(folder)
    return path if path.startswith(root + os.sep) else os.path.join(folder, os.path.basename(name))


def leads_out(path: str, folder: str) -> bool:
    """Returns whether a path leads out of a folder when links are followed."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) != root


def linked_away(prefix: str, folder: str) -> str:
    """Returns a sentence about a file of a checkpoint that is a link out of a folder; empty if there is none.

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
        OpenError: a file of it is a link that leads out.
    """
    problem = linked_away(prefix, folder)
    if problem:
        how = "If you know where it leads, give the path of the checkpoint itself, or copy it: cp -RL"
        raise OpenError(request, f"checkpoint {os.path.basename(prefix)!r} is not safe: {problem}", how)
