"""Files are there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph import whole
from graphsurgeon.graph.whole import write_whole
from graphsurgeon.screen import leave


@pytest.fixture
def full(monkeypatch):
    def no_room(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole.os, "fsync", no_room)


def test_a_full_disk_leaves_the_old_file(tmp_path, full):
    file = tmp_path / "a.svg"
    file.write_text("old")
    with pytest.raises(OSError, match=r"No space left on device: 3 bytes needed, .+ free") as told:
        write_whole(file, b"new")
    assert told.value.errno == errno.ENOSPC
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "a.svg"
    file.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(whole.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, b"new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_permissions_and_links_stay(tmp_path):
    file, link = tmp_path / "a", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert (file.read_text(), link.is_symlink()) == ("new", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    (tmp_path / "plain").write_text("x")
    write_whole(tmp_path / "made", b"x")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "a", b"x")


class _Editor:
    def to_svg(self):
        return "<svg/>"


class _Stage:
    destination = _Editor()


def test_the_screen_says_it_in_three_parts(tmp_path, full):
    path = str(tmp_path / "a.svg")
    with pytest.raises(PlanError) as told:
        leave.save(_Stage(), None, path, "picture")
    assert str(told.value).startswith(f"save({path!r}): No space left on device: 6 bytes needed, ")
    assert str(told.value).endswith("Give another path, or make room; what was there is as it was.")
