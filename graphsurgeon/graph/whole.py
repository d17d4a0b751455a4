"""Whole: a file is there whole or not at all; what was there before stays where it cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .sizes import size_text


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file beside the one that is meant, and gives it the name when all of it is on the disk.

    Args:
        path: the file; one that is there is replaced.
        data: what it will hold.

    Raises:
        OSError: it cannot be written; a file that was there is as it was. Where the disk is full, the message says how
            much room there is, and how much is needed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(Path(folder, "a.txt"), b"text")
        ...     Path(folder, "a.txt").read_text(), os.listdir(folder)
        ('text', ['a.txt'])
    """
    target = Path(path).resolve()  # a link stays one
    number, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode(target))
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError):
            raise type(error)(error.errno, why(error, target.parent, len(data)), os.fspath(path)) from error
        raise


def why(error: OSError, folder: str | os.PathLike[str], needed: int = 0) -> str:
    """Returns why something cannot be written, in words; where the disk is full, with the room that there is.

    Args:
        error: what the system says.
        folder: where to.
        needed: how many bytes; 0 where nobody knows.

    Example:
        >>> why(PermissionError(errno.EACCES, "Permission denied"), ".")
        'Permission denied'
    """
    said = error.strerror or str(error)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return said
    free = f"{size_text(shutil.disk_usage(folder).free)} free"
    return f"{said}: {size_text(needed)} needed, {free}" if needed else f"{said}: {free}"


def flush(path: str | os.PathLike[str]) -> None:
    """Waits until a file, or all files of a folder, are on the disk; raises OSError where they cannot be."""
    files = [one for one in Path(path).rglob("*") if one.is_file()] if os.path.isdir(path) else [Path(path)]
    for file in files:
        number = os.open(file, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def put(moves: Sequence[tuple[str, str]], aside: str, gone: Sequence[str] = ()) -> None:
    """Gives new files and folders their names, all of them or none.

    Args:
        moves: (where it is, where it is to be); what is there now gives way. The last one goes first of what was there
            and comes last of what is new: it is what others look for.
        aside: a folder on the same disk for what gives way; whoever made it drops it.
        gone: what has to go besides.

    Raises:
        OSError: one of them cannot be moved; all is then as it was.
    """
    done: list[tuple[str, str]] = []

    def move(old: str, new: str) -> None:
        os.replace(old, new)
        done.append((old, new))

    try:
        for number, path in enumerate([*(new for _, new in reversed(moves)), *gone]):
            if os.path.lexists(path):
                move(path, os.path.join(aside, f".before{number}"))
        for old, new in moves:
            move(old, new)
    except BaseException:
        for old, new in reversed(done):
            with suppress(OSError):
                os.replace(new, old)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is there, or those that a new one would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
