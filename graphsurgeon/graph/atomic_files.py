"""Files written atomically: a file is complete or unchanged.

New files are written to a new folder next to their target, flushed to the disk, and then renamed. Several files that
belong together are moved one after another; if a move fails, the earlier ones are undone.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import PlanError
from .arrays import size_text

#: The folder for replaced files, inside the folder for new files.
_BEFORE = "before"
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
    """Yields a new folder next to the target of a new file, and removes the folder afterwards.

    The folder stays if it has replaced files that could not be put back. It also stays if the process is killed.

    Raises:
        OSError: if the folder cannot be made.
    """
    folder = tempfile.mkdtemp(prefix=".being_written_", dir=os.path.dirname(os.path.abspath(path)))
    try:
        yield folder
    finally:
        if not os.path.exists(os.path.join(folder, _BEFORE)):
            shutil.rmtree(folder, ignore_errors=True)


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
    before = os.path.join(staging, _BEFORE)
    os.mkdir(before)
    old = [path for path in [*(new for _, new in reversed(moves)), *obsolete] if os.path.lexists(path)]
    plan = [*((path, os.path.join(before, str(number))) for number, path in enumerate(old)), *moves]
    try:
        for place, path in plan:
            os.replace(place, path)
    except BaseException:
        for place, path in reversed(plan):
            if os.path.lexists(path) and not os.path.lexists(place):  # it was moved
                os.replace(path, place)
        os.rmdir(before)
        raise
    shutil.rmtree(before, ignore_errors=True)
