"""Files are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph import atomic_files
from graphsurgeon.graph.atomic_files import (
    TargetExistsError,
    ensure_writable,
    install_files,
    record_write,
    staging_dir,
    write_atomic,
)
from graphsurgeon.ui.commands import save
from tests.refusal import refuses
from tests.writers import say, stopping, writers


@pytest.fixture
def full(monkeypatch):
    def no_room(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_files.os, "fsync", no_room)


def test_a_full_disk_leaves_the_old_file(tmp_path, full, monkeypatch):
    file = tmp_path / "a.svg"
    file.write_text("old")
    monkeypatch.setattr(atomic_files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1))
    words = "No space left on device: 3 bytes needed, 1 byte free, 2 bytes missing"
    with pytest.raises(OSError, match=words) as reported:
        write_atomic(file, b"new")
    assert reported.value.errno == errno.ENOSPC
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "a.svg"
    file.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(file, b"new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_permissions_and_links_stay(tmp_path):
    file, link = tmp_path / "a", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_atomic(link, b"new")
    assert (file.read_text(), link.is_symlink()) == ("new", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    (tmp_path / "plain").write_text("x")
    write_atomic(tmp_path / "made", b"x")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "no" / "a", b"x")


class _Editor:
    def to_svg(self):
        return "<svg/>"


class _Stage:
    destination = _Editor()


def test_the_screen_says_it_in_three_parts(tmp_path, full):
    path = str(tmp_path / "a.svg")
    with pytest.raises(PlanError) as reported:
        save.save(_Stage(), None, path, "picture")
    assert str(reported.value).startswith(f"save({path!r}): No space left on device: 6 bytes needed, ")
    assert str(reported.value).endswith(
        "Choose another path, or free some disk space. The existing files did not change."
    )


def test_what_is_there_is_replaced_where_it_is_asked_or_our_own(tmp_path):
    file, own = tmp_path / "theirs", tmp_path / "ours"
    file.write_text("old")
    with refuses(
        TargetExistsError, "save(): ", f"'{file}' already exists", "Choose another path, or type overwrite=True"
    ):
        ensure_writable(file, False, "save()")
    ensure_writable(file, True, "save()")
    ensure_writable(tmp_path / "free", False, "save()")
    write_atomic(own, b"one")
    ensure_writable(own, False, "save()")
    own.write_text("changed by hand")
    with refuses(TargetExistsError, "already exists"):
        ensure_writable(own, False, "save()")
    own.chmod(0o400)
    record_write(own)
    with refuses(PlanError, f"'{own}' exists and is read-only", "Choose another path, or make it writable"):
        ensure_writable(own, True, "save()")


# -- a writer that is stopped ---------------------------------------------------------------------


def write_one(folder):
    """Replaces a file by another."""
    write_atomic(Path(folder, "a"), b"new a")


def write_two(folder):
    """Replaces two files that belong together, and takes a third away."""
    with staging_dir(os.path.join(folder, "a")) as aside:
        for name in "ab":
            Path(aside, name).write_text(f"new {name}")
        moves = [(os.path.join(aside, name), os.path.join(folder, name)) for name in "ab"]
        install_files(moves, aside, [os.path.join(folder, "c")])


WRITE = {"write_one": write_one, "write_two": write_two}
OLD = {"a": "old a", "b": "old b", "c": "old c"}
NEW = {"write_one": OLD | {"a": "new a"}, "write_two": {"a": "new a", "b": "new b"}}


def fresh(folder):
    """Puts the old files into a folder, and nothing else."""
    for one in folder.iterdir():
        one.unlink()
    for name, text in OLD.items():
        (folder / name).write_text(text)


def there(folder):
    """What is in a folder, without what a stopped writer has left beside; that is deleted."""
    for aside in folder.glob(".being_written_*"):
        shutil.rmtree(aside)
    return {one.name: one.read_text() for one in folder.iterdir()}


@pytest.fixture(scope="module")
def stopped():
    """A process whose children write, and are stopped."""
    with writers("tests.graph.test_whole") as made:
        yield made


@pytest.mark.parametrize("function", WRITE)
def test_a_writer_killed_at_any_write_loses_no_file(stopped, tmp_path, function):
    seen = []
    for at in count(1):
        fresh(tmp_path)
        end = stopped.run(function, str(tmp_path), at=at)
        moved = {one.read_text() for one in tmp_path.glob(".being_written_*/before/*")}
        seen.append(there(tmp_path))
        assert seen[-1] == NEW[function] or {*OLD.values()} <= {*seen[-1].values(), *moved}
        if not end.hit:
            break
        assert end.signal == signal.SIGKILL
    assert end.error == ""
    assert seen[0] == OLD
    assert seen[-1] == NEW[function]
    assert function == "write_two" or all(one in (OLD, NEW[function]) for one in seen)
    assert len(seen) > 5


def stop_at_each(folder, function, happens):
    """What a child does: it writes, and is stopped at the first write, then at the second, until it gets through."""
    for at in count(1):
        fresh(Path(folder))
        error = ""
        with stopping(at, happens) as stop:
            try:
                WRITE[function](folder)
            except (OSError, KeyboardInterrupt) as raised:
                error = type(raised).__name__
        found = there(Path(folder))
        assert found in (OLD, NEW[function]), (at, found)
        assert error == "KeyboardInterrupt" or found == (OLD if error else NEW[function]), (at, error, found)
        if not stop.hit:
            assert error == ""
            say(str(at))
            break


@pytest.mark.parametrize("happens", ["full", "interrupt"])
@pytest.mark.parametrize("function", WRITE)
def test_a_writer_stopped_at_any_write_leaves_the_old_or_the_new(stopped, tmp_path, function, happens):
    end = stopped.run("stop_at_each", str(tmp_path), function, happens)
    assert end.error == ""
    assert int(end.said[0]) > 5


def test_two_that_write_next_to_each_other_do_not_meet(tmp_path):
    with staging_dir(tmp_path / "a") as one, staging_dir(tmp_path / "a") as other:
        assert os.path.isdir(one)
        assert os.path.isdir(other)
        assert one != other
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_put_back_is_not_deleted(tmp_path, monkeypatch):
    fresh(tmp_path)
    real = os.replace

    def replace(place, path):
        if str(place).endswith(".new") or "before" in str(place):
            raise OSError(errno.EIO, "Input/output error")
        real(place, path)

    monkeypatch.setattr(atomic_files.os, "replace", replace)
    with pytest.raises(OSError, match="Input/output error"), staging_dir(tmp_path / "a") as aside:  # noqa: PT012
        Path(aside, "a.new").write_text("new a")
        install_files([(os.path.join(aside, "a.new"), str(tmp_path / "a"))], aside)
    assert Path(aside, "before", "0").read_text() == "old a"
