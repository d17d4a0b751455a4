"""Files written atomically: a file is complete or unchanged.

New files are written to a new folder next to their target, flushed to the disk, and then renamed. Several files that
belong together are moved one after another. The replaced files wait in the same folder, with a list of the moves. If
the process is killed during the moves, `recover_files` restores the earlier state.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import PlanError
from .arrays import size_text

#: None on Windows: the files of a killed process are not removed there.
_fcntl: Any = import_module("fcntl") if find_spec("fcntl") is not None else None
_STAGING_PREFIX, _LOCK_FILE, _MOVES, _BEFORE = ".being_written_", "held", "moves.json", ".before"
_LISTS = ("before", "new")
_AT_CWD, _EXCHANGE = -100, 2
#: Path -> the identity of the file that this process has written there.
_written_files: dict[str, tuple[int, ...]] = {}


class TargetExistsError(PlanError):
    """A file already exists at the path to be written, and replacing it was not requested."""


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file next to its target, and renames it to the target when all of it is on the disk.

    Args:
        path: the target; an existing file is replaced.
        data: the contents.

    Raises:
        OSError: if the file cannot be written; an existing file is unchanged. If the disk is full, the message contains
            the free and the missing space.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomic(Path(folder, "a.txt"), b"text")
        ...     Path(folder, "a.txt").read_text(), os.listdir(folder)
        ('text', ['a.txt'])
    """
    target = Path(path).resolve()  # a symbolic link is kept
    try:
        with staging_dir(target) as folder:
            new = os.path.join(folder, "new")
            with open(new, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(new, target.stat().st_mode & 0o777)
            os.replace(new, target)
    except OSError as error:
        raise type(error)(error.errno, write_failure(error, target.parent, len(data)), os.fspath(path)) from error
    record_write(target)


def write_failure(error: OSError, folder: str | os.PathLike[str], size: int = 0) -> str:
    """Returns the reason why a file cannot be written; if the disk is full, with the missing space.

    Args:
        error: the error of the system.
        folder: the target folder.
        size: the number of bytes; 0 if it is not known.

    Example:
        >>> write_failure(PermissionError(errno.EACCES, "Permission denied"), ".")
        'Permission denied'
    """
    message = error.strerror or str(error)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return message
    there = Path(folder).absolute()
    free = shutil.disk_usage(next(one for one in (there, *there.parents) if one.exists())).free
    short = f", {size_text(size - free)} missing" if size > free else ""
    request = f"{size_text(size)} needed, " if size else ""
    return f"{message}: {request}{size_text(free)} free{short}"


def flush(path: str | os.PathLike[str]) -> None:
    """Waits until a file, or all files of a folder, are on the disk; raises OSError if that is not possible."""
    files = [one for one in Path(path).rglob("*") if one.is_file()] if os.path.isdir(path) else [Path(path)]
    for file in files:
        number = os.open(file, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


# -- existing files -------------------------------------------------------------------------------


def ensure_writable(path: str | os.PathLike[str], overwrite: bool, request: str) -> None:
    """Refuses a path with an existing file, unless its replacement was requested.

    A file that this process wrote, and that has not changed since, may be replaced, so that a cell that saves can run
    again.

    Args:
        path: the path to write to; for a checkpoint or SavedModel, its main file.
        overwrite: whether replacement was requested.
        request: the request, for messages.

    Raises:
        TargetExistsError: if there is such a file.
        PlanError: if the file is read-only, or the path is a folder.
    """
    file = Path(path)
    recover_files(file.parent)
    if not os.path.lexists(file):
        return
    if file.is_dir():
        raise PlanError(request, f"{os.fspath(path)!r} is a folder", "Give the path of a file, such as one in it")
    if file.is_file() and not file.stat().st_mode & 0o222:
        problem = f"{os.fspath(path)!r} exists and is read-only"
        raise PlanError(request, problem, "Choose another path, or make it writable")
    if overwrite or _written_files.get(_key(file)) == _stamp(file):
        return
    raise TargetExistsError(
        request, f"{os.fspath(path)!r} already exists", "Choose another path, or type overwrite=True"
    )


def record_write(path: str | os.PathLike[str]) -> None:
    """Records that this process has just written a file."""
    with suppress(OSError):
        _written_files[_key(path)] = _stamp(path)


def _key(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(path)


def _stamp(path: str | os.PathLike[str]) -> tuple[int, ...]:
    info = os.stat(path)
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


# -- several files at once ------------------------------------------------------------------------


@contextmanager
def staging_dir(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a new folder next to the target of a new file, and always removes the folder afterwards.

    Raises:
        OSError: if the folder cannot be made.
    """
    parent = os.path.dirname(os.path.abspath(path))
    recover_files(parent)
    folder, lock_file = _marked_folder(parent)
    try:
        yield folder
    finally:
        try:
            if not os.path.exists(os.path.join(folder, _MOVES)):  # otherwise the earlier files are still in it
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock_file)


def install_files(moves: Sequence[tuple[str, str]], staging: str, obsolete: Sequence[str] = ()) -> None:
    """Moves new files and folders to their targets, either all of them or none.

    Args:
        moves: (current path, target path); an existing target is replaced. The last target is the main file: its old
            file is moved away first, and its new file is moved in last.
        staging: the folder of `staging_dir`; replaced files wait in it.
        obsolete: other paths to remove.

    Raises:
        OSError: if a file cannot be moved; then all files are as before.
    """
    old = [path for path in [*(new for _, new in reversed(moves)), *obsolete] if os.path.lexists(path)]
    before = [(os.path.join(staging, f"{_BEFORE}{number}"), path) for number, path in enumerate(old)]
    if len(moves) == 1 and (not old or (old == [moves[0][1]] and _exchange(*moves[0]))):
        if not old:
            os.replace(*moves[0])
        return
    plan = {
        "before": [[*_names(*one), ""] for one in before],
        "new": [[*_names(*one), _file_identity(one[0])] for one in moves],
    }
    list_path = os.path.join(staging, _MOVES)
    with open(f"{list_path}.new", "w", encoding="utf-8") as file:
        json.dump(plan, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{list_path}.new", list_path)
    try:
        for place, path in before:
            os.replace(path, place)
        for new, path in moves:
            os.replace(new, path)
    except BaseException:
        _undo(staging)
        raise
    with suppress(OSError):  # all files are at their targets, so `recover_files` only deletes the list
        os.unlink(list_path)


def recover_files(folder: str | os.PathLike[str]) -> list[str]:
    """Restores the files that a process was replacing in a folder when it was killed; returns the restored paths.

    If all new files were already at their targets, they stay there. Files that another process is writing at this
    moment, or that another program has written since, do not change.

    Example:
        >>> recover_files(".")
        []
    """
    restored: list[str] = []
    try:
        folders = [one.path for one in os.scandir(folder) if one.name.startswith(_STAGING_PREFIX)]
    except OSError:
        return restored
    for aside in folders:
        with suppress(OSError), _exclusive(aside) as mine:
            if mine:
                restored += _undo(aside)
                shutil.rmtree(aside, ignore_errors=True)
    return restored


def _undo(staging: str) -> list[str]:
    """Reverses a list of moves; returns the restored paths.

    Only the same files that were moved are moved back, and never onto an existing file. Files that were written since
    then stay, and a forged list affects no other file.
    """
    list_path, parent = os.path.join(staging, _MOVES), os.path.dirname(staging)
    if not os.path.exists(list_path):
        return []
    moves = _read_lists(list_path)
    back: list[str] = []
    new = [(os.path.join(staging, name), os.path.join(parent, to), file) for name, to, file in moves["new"]]
    if any(os.path.lexists(waiting) for waiting, _, _ in new):  # otherwise all new files are at their targets
        for waiting, path, file in reversed(new):
            if not os.path.lexists(waiting) and file and _file_identity(path) == file:
                os.replace(path, waiting)
        for name, to, _ in reversed(moves["before"]):
            place, path = os.path.join(staging, name), os.path.join(parent, to)
            if os.path.lexists(place) and not os.path.lexists(path):
                os.replace(place, path)
                back.append(path)
    os.unlink(list_path)
    return back


def _read_lists(list_path: str) -> dict[str, list[tuple[str, str, str]]]:
    """Reads a list of moves: (name in this folder, name in the parent folder, `_file_identity`).

    A name never leads to another folder.

    Raises:
        OSError: if the file is not such a list.
    """
    try:
        with open(list_path, encoding="utf-8") as text:
            moves: Any = json.load(text)
        lists = {key: [(str(name), str(to), str(file)) for name, to, file in moves[key]] for key in _LISTS}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise OSError(errno.EINVAL, "it is not a list of moves", list_path) from error
    names = [name for key in _LISTS for *pair, _ in lists[key] for name in pair]
    if any(os.path.basename(name) != name or name in ("", ".", "..") for name in names):
        raise OSError(errno.EINVAL, "a list of moves leads out of its folder", list_path)
    return lists


def _names(inside: str, path: str) -> list[str]:
    return [os.path.basename(inside), os.path.basename(path)]


def _file_identity(path: str) -> str:
    """Returns the identity of a file, which does not depend on its name; empty if the file does not exist.

    Earlier files at the same path have another identity.
    """
    try:
        info = os.lstat(path)
    except OSError:
        return ""
    return f"{info.st_ino} {info.st_size} {info.st_mtime_ns}"


def _marked_folder(parent: str) -> tuple[str, int]:
    """Makes a folder with a lock file, which marks the folder as in use.

    Returns:
        the folder, and the descriptor of the lock file, which is locked as long as the process lives.
    """
    while True:
        folder = tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=parent)
        lock_file = os.path.join(folder, _LOCK_FILE)
        try:
            number = os.open(lock_file, os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # another process has removed it, because it looked abandoned
            continue
        if lock(number) and os.path.exists(lock_file):
            return folder, number
        os.close(number)


def _cleanup_began(staging: str) -> bool:
    """Returns whether a process was killed while it removed the folder; removes empty folders."""
    names = os.listdir(staging)
    if not names:  # an abandoned folder; or a new folder, which the other process then makes again
        os.rmdir(staging)
    return bool(names) and _LOCK_FILE not in names


@contextmanager
def _exclusive(staging: str) -> Iterator[bool]:
    """Yields whether no other process uses the folder; if so, this process locks it until the end."""
    if _fcntl is None:
        yield False
        return
    if _cleanup_began(staging):
        yield True
        return
    number = os.open(os.path.join(staging, _LOCK_FILE), os.O_RDWR)
    try:
        yield lock(number, default=False)
    finally:
        os.close(number)


def lock(number: int, default: bool = True) -> bool:
    """Locks an open file for this process until it is closed; False if it is already locked, here or elsewhere.

    Args:
        number: the descriptor of the file.
        default: the result if the file system has no locks.
    """
    if _fcntl is None:
        return True
    try:
        _fcntl.flock(number, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return default
    return True


def _exchange(new: str, path: str) -> bool:
    """Exchanges two files or folders atomically, if the system can; returns whether it did."""
    if not sys.platform.startswith("linux"):
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    return bool(call(_AT_CWD, os.fsencode(new), _AT_CWD, os.fsencode(path), _EXCHANGE) == 0)
