"""Files are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import tempfile
from itertools import count, groupby
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
    recover_files,
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
    """What is in a folder, once what a writer has left is put back."""
    recover_files(folder)
    return {one.name: one.read_text() for one in folder.iterdir()}


@pytest.fixture(scope="module")
def stopped():
    """A process whose children write, and are stopped."""
    with writers("tests.graph.test_whole") as made:
        yield made


@pytest.mark.parametrize("function", WRITE)
def test_a_writer_killed_at_any_write_leaves_the_old_or_the_new(stopped, tmp_path, function):
    seen = []
    for at in count(1):
        fresh(tmp_path)
        end = stopped.run(function, str(tmp_path), at=at)
        seen.append(there(tmp_path))
        if not end.hit:
            break
        assert end.signal == signal.SIGKILL
    assert end.error == ""
    kinds = [one for one, _ in groupby(seen)]
    assert kinds == [OLD, NEW[function]]  # at first the old, from one moment on the new
    assert len(seen) > 8


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
    assert int(end.said[0]) > 8


def half_moved(folder):
    """What a writer leaves that is killed between two of its moves."""
    fresh(folder)
    with staging_dir(folder / "a") as aside, pytest.MonkeyPatch.context() as patch:
        for name in "ab":
            Path(aside, name).write_text(f"new {name}")
        real, moves = os.replace, [(os.path.join(aside, name), str(folder / name)) for name in "ab"]

        def replace(place, path):
            if path == str(folder / "b"):
                raise SystemExit
            real(place, path)

        patch.setattr(atomic_files.os, "replace", replace)
        patch.setattr(atomic_files, "_undo", lambda aside: None)  # nobody is left to do that
        with pytest.raises(SystemExit):
            install_files(moves, aside)
    assert (folder / "a").read_text() == "new a"
    assert not (folder / "b").exists()


def test_whoever_writes_or_asks_next_to_it_puts_it_back(tmp_path):
    half_moved(tmp_path)
    write_atomic(tmp_path / "d", b"d")
    assert there(tmp_path) == OLD | {"d": "d"}
    (tmp_path / "d").unlink()
    half_moved(tmp_path)
    with refuses(TargetExistsError, "b' already exists"):
        ensure_writable(tmp_path / "b", False, "save()")


def test_what_somebody_has_written_there_since_stays(tmp_path):
    half_moved(tmp_path)
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("a third")
    assert there(tmp_path) == {"a": "a third", "b": "old b", "c": "old c"}


def test_what_is_being_written_at_this_moment_is_left_alone(tmp_path):
    with staging_dir(tmp_path / "a") as one, staging_dir(tmp_path / "b") as other:
        assert os.path.isdir(one)
        assert os.path.isdir(other)
        recover_files(tmp_path)
        assert os.path.isdir(one)
    assert os.listdir(tmp_path) == []


def test_what_was_left_before_anything_was_written_goes(tmp_path):
    (tmp_path / ".being_written_a").mkdir()
    (tmp_path / ".being_written_b").mkdir()
    (tmp_path / ".being_written_b" / "new").write_text("half")  # its writer was killed as it cleared up
    recover_files(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_another_takes_for_a_left_one_is_made_again(tmp_path, monkeypatch):
    real, made = tempfile.mkdtemp, []

    def taken(**given):
        made.append(real(**given))
        if len(made) == 1:
            recover_files(tmp_path)  # as another process does at this moment
        return made[-1]

    monkeypatch.setattr(atomic_files.tempfile, "mkdtemp", taken)
    with staging_dir(tmp_path / "a") as folder:
        assert made[1] == folder
        assert os.listdir(tmp_path) == [os.path.basename(folder)]


def test_where_there_are_no_locks_nothing_is_put_back(tmp_path, monkeypatch):
    half_moved(tmp_path)

    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "_fcntl", SimpleNamespace(flock=none, LOCK_EX=2, LOCK_NB=4))
        assert recover_files(tmp_path) == []
    assert there(tmp_path) == OLD


LISTS = {
    "a path that leads out": {"before": [["held", "../secret", ""]], "new": [["new", "b", ""]]},
    "a path within": {"before": [["x/y", "b", ""]], "new": [["new", "b", ""]]},
    "no names": {"before": [[1]], "new": [["new", "b", ""]]},
    "no list": [1],
}


@pytest.mark.parametrize("moves", LISTS.values(), ids=LISTS)
def test_a_list_of_moves_leads_nowhere_else(tmp_path, moves):
    folder, aside = hostile(tmp_path, moves)
    assert recover_files(folder) == []
    assert (tmp_path / "secret").read_text() == "x"
    assert sorted(os.listdir(aside)) == [".before0", "held", "moves.json", "new"]  # left as it is


def test_a_list_of_moves_reaches_no_file_of_anybody(tmp_path):
    folder, aside = hostile(
        tmp_path, {"before": [[".before0", "mine", ""]], "new": [["new", "x", ""], ["gone", "mine", ""]]}
    )
    (folder / "mine").write_text("mine")
    recover_files(folder)
    assert (folder / "mine").read_text() == "mine"
    assert not aside.exists()


def hostile(tmp_path, moves):
    """A folder in which a stranger has put what a writer leaves that was killed."""
    folder = tmp_path / "a"
    aside = folder / ".being_written_x"
    aside.mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    for name in ("held", "new", ".before0"):
        (aside / name).write_text("bad")
    (aside / "moves.json").write_text(json.dumps(moves))
    return folder, aside
