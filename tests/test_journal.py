"""The journal: each step is on disk before the next, and a journal that cannot be written stops nothing."""

from __future__ import annotations

import errno
import gc
import json
import os
import time
from types import SimpleNamespace

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor import journal
from graphsurgeon.editor.journal import Records, clean, folder, journals, line, recovery_notice
from graphsurgeon.errors import OpenError
from tests.journals import kept_in, small
from tests.refusal import refuses


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of journals."""
    return kept_in(tmp_path, monkeypatch)


@pytest.fixture
def path(tmp_path):
    """The path of a file with four ops."""
    return small(tmp_path)


def kinds(ed):
    return [one["kind"] for one in Records.read(ed.journal.path).records]


def test_each_turn_is_one_record_and_looking_writes_nothing(path, place):
    ed = gs.open(path)
    print(ed, ed.to_svg()[:4], ed.select(scope="net"))
    assert not place.exists()
    assert ed.journal.messages == []
    assert repr(ed.journal) == "journal: nothing written yet"
    ed.apply(ed.plan().rename("y", to="z"))
    ed.apply(ed.plan().remove("z"))
    ed.undo()
    ed.redo()
    assert kinds(ed) == ["journal", "plan", "plan", "undo", "redo"]
    assert ed.journal.path.parent == place
    assert [oct(one.stat().st_mode & 0o777) for one in (place, ed.journal.path)] == ["0o700", "0o600"]
    assert repr(ed.journal) == f"journal: {ed.journal.path}"


def test_what_is_made_by_hand_is_in_it(path, place):
    screen = gs.open(path).screen
    screen.select(["y"])
    assert not place.exists()  # a selection is no work
    screen.mark_input("x:0")
    screen.rename("y", "z")
    screen.bypass("net/a")
    screen.undo()
    screen.save_view("mine")
    found = Records.read(journals(path)[0]).records
    assert [one["kind"] for one in found] == ["journal", "look", "draft", "draft", "draft", "look"]
    drafts = [one for one in found if one["kind"] == "draft"]
    assert [(one["keep"], len(one["steps"])) for one in drafts] == [(0, 1), (1, 1), (1, 0)]


def test_a_journal_is_kept_of_files_and_where_it_is_asked(path, place, monkeypatch):
    assert gs.open(path, journal=False).journal is None
    assert gs.open(tf.Graph()).journal is None
    with refuses(OpenError, "open(journal=True)", "a journal needs a file, and graph did not come from one"):
        gs.open(tf.Graph(), journal=True)
    monkeypatch.setenv(journal.SETTING, "off")
    assert folder() is None
    assert gs.open(path).journal is None
    monkeypatch.delenv(journal.SETTING)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    assert folder() == place / "state" / "graphsurgeon" / "journals"
    monkeypatch.setenv(journal.SETTING, "off")
    assert folder(requested=True) == place / "state" / "graphsurgeon" / "journals"
    ed = gs.open(path, journal=True)
    ed.apply(ed.plan().rename("y", to="z"))
    assert ed.journal.path.parent == place / "state" / "graphsurgeon" / "journals"


def test_a_full_disk_stops_the_journal_and_nothing_else(path, place, monkeypatch):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    with monkeypatch.context() as patched:

        def full(number):
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(os, "fsync", full)
        ed.apply(ed.plan().rename("z", to="w"))
    ed.undo()
    assert "z" in ed.snapshot.index
    words = "the journal ends here, and later edits are not in it: No space left on device: "
    assert ed.journal.notes[0].startswith(words)
    assert f"warning: {words}" in str(ed)
    assert len(ed.journal.notes) == 1


def test_a_folder_that_cannot_be_made_is_said(path, place):
    place.write_text("a file")
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    assert "the journal ends here" in ed.journal.notes[0]
    assert "z" in ed.snapshot.index


def test_a_journal_that_was_deleted_is_said(path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    ed.journal.path.unlink()
    ed.apply(ed.plan().rename("z", to="w"))
    assert ed.journal.notes == ["the journal ends here, and later edits are not in it: it was deleted"]


def test_a_record_that_was_interrupted_leaves_no_trace(path, place, monkeypatch):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    real = os.write

    def half(number, data):
        real(number, bytes(data)[:20])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journal.os, "write", half)
        with pytest.raises(KeyboardInterrupt):
            ed.apply(ed.plan().rename("z", to="w"))
    assert "w" in ed.snapshot.index  # it was done by then
    ed.undo()
    assert kinds(ed) == ["journal", "plan", "plan", "undo"]


def test_its_size_is_bounded(path, place, monkeypatch):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    monkeypatch.setattr(journal, "MOST", ed.journal.path.stat().st_size + 10)
    ed.apply(ed.plan().rename("z", to="w"))
    assert ed.journal.notes[0].endswith("it would be too large")
    assert kinds(ed) == ["journal", "plan"]


def test_old_journals_go_but_none_that_is_being_written(tmp_path):
    key, names = "k" * 24, []
    for number in range(8):
        names.append(tmp_path / f"{key}-{number:020d}-x.journal")
        names[-1].write_bytes(b"x")
    old = tmp_path / f"{'o' * 24}-{0:020d}-x.journal"
    old.write_bytes(b"x")
    os.utime(old, (time.time() - 86400 * (journal.DAYS + 1),) * 2)
    with open(names[0], "r+b") as held:
        assert journal.lock(held.fileno())
        clean(tmp_path, key)
        left = sorted(one.name for one in tmp_path.iterdir())
    assert left == [names[0].name, *(one.name for one in names[-journal.KEPT + 1 :])]


def test_all_of_them_have_a_bound(tmp_path, monkeypatch):
    for number in range(4):
        (tmp_path / f"{number:024d}-{number:020d}-x.journal").write_bytes(b"x" * 100)
    monkeypatch.setattr(journal, "MOST_ALL", journal.MOST + 250)
    clean(tmp_path, "other")
    assert len(list(tmp_path.iterdir())) == 2


def records(*lines):
    return b"".join(lines)


ONE, TWO, THREE = (line({"kind": kind}) for kind in ("journal", "undo", "redo"))


@pytest.mark.parametrize(
    ("data", "count", "damage"),
    [
        (ONE + TWO + THREE, 3, ""),
        (ONE + TWO + THREE[:-1], 2, ""),
        (ONE + TWO + THREE[:9], 2, ""),
        (ONE + TWO.replace(b"undo", b"redo") + THREE, 1, "record 2 of 3 is damaged; 1 record after it are left out"),
        (ONE + TWO[:10] + b"\n" + THREE, 1, "record 2 of 3 is damaged; 1 record after it are left out"),
        (b"\x00\xff\n" + TWO + THREE, 0, "record 1 of 3 is damaged; 2 records after it are left out"),
        (ONE + line({"no": "kind"}) + TWO, 1, "record 2 of 3 is damaged; 1 record after it are left out"),
        (b"", 0, ""),
    ],
)  # fmt: skip
def test_a_torn_end_is_left_out_and_a_damaged_middle_is_said(tmp_path, data, count, damage):
    (tmp_path / "j").write_bytes(data)
    found = Records.read(tmp_path / "j")
    assert len(found.records) == count
    assert found.damage == damage.replace("1 record after it are", "1 record after it is")


def test_every_length_of_a_journal_reads_as_its_whole_records(tmp_path):
    data = ONE + TWO + THREE
    for length in range(len(data) + 1):
        (tmp_path / "j").write_bytes(data[:length])
        found = Records.read(tmp_path / "j")
        assert found.damage == ""
        assert len(found.records) == data[:length].count(b"\n")


def test_a_journal_of_another_version_is_not_read(tmp_path):
    (tmp_path / "j").write_bytes(ONE.replace(b"gs2", b"gs3"))
    with refuses(OpenError, "it is a journal of version 3, and this is version 2", "Read it with the graphsurgeon"):
        Records.read(tmp_path / "j")
    with refuses(OpenError, "it cannot be read: No such file", "Check its permissions"):
        Records.read(tmp_path / "none")


def test_an_earlier_journal_is_offered_until_it_was_saved(path, place, monkeypatch):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    ed.screen.rename("z", "w")
    assert gs.open(path).journal.offer == ""  # it is of this process
    monkeypatch.setattr(journal, "_PROCESS", "another")
    assert gs.open(path).journal.offer == ""  # it is being written
    del ed
    gc.collect()
    words = f"2 steps done here before and not saved can be restored: gs.recover({str(path)!r})"
    again = gs.open(path)
    assert f"warning: {words}" in str(again)
    assert again.screen.state.status.text == words
    again.apply(again.plan().rename("y", to="v"))
    assert words not in str(again)
    again.save(path.parent / "saved.pb")
    assert kinds(again)[-1] == "saved"
    monkeypatch.setattr(journal, "_PROCESS", "a third")
    del again
    gc.collect()
    assert gs.open(path).journal.offer == ""


def test_a_spoilt_journal_is_not_offered_and_does_no_harm(path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    file = ed.journal.path
    del ed
    gc.collect()
    for data in (b"", b"\xff" * 100, ONE.replace(b"gs1", b"gs9"), line({"kind": "journal"}), line({"kind": "plan"})):
        file.write_bytes(data)
        assert recovery_notice(gs.open(path).opened_graph.file, place) == "" or data == line({"kind": "plan"})


def test_no_handle_stays_open(path, place):
    def handles():
        gc.collect()
        return sum("journal" in os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if _there(n))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no list of handles here")
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    assert handles() == 1
    del ed
    assert handles() == 0


def _there(number):
    return os.path.lexists(f"/proc/self/fd/{number}")


def test_a_record_is_plain_text(path, place):
    ed = gs.open(path)
    ed.screen.save_view("z\u2028z")
    text = ed.journal.path.read_bytes()
    assert max(text) < 128
    assert text.count(b"\n") == 2
    assert json.loads(text.splitlines()[1].split(b" ", 3)[3])["views"][0][0] == "z\u2028z"


def test_where_there_are_no_locks_a_journal_counts_as_free(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    fake = SimpleNamespace(flock=none, LOCK_EX=2, LOCK_NB=4)
    monkeypatch.setattr("graphsurgeon.editor.journal._fcntl", fake)
    with open(tmp_path / "a", "w") as file:
        assert journal.lock(file.fileno())
