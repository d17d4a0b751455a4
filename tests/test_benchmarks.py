"""The frame of the benchmarks: rows, the table, the results file, the exit code."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import sys

import pytest

from benchmarks import __main__ as frame
from benchmarks import peak as peak_module
from benchmarks import peer as peer_module
from benchmarks import rows as rows_module
from benchmarks.rows import Row, seconds
from tests.graphs import tiny


@pytest.mark.parametrize("module", [frame, rows_module])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_a_row_is_judged_by_its_ratio_or_by_its_value():
    assert Row("a", 1.0, 2.0, 0.5).ok
    assert not Row("a", 1.1, 2.0, 0.5).ok
    assert Row("a", 0.3, None, 0.3).ok
    assert not Row("a", 0.4, None, 0.3).ok


def test_seconds_calls_as_often_as_asked():
    calls: list[int] = []
    assert seconds(lambda: calls.append(1), repeat=3) >= 0
    assert len(calls) == 3


@pytest.mark.parametrize(("target", "code"), [(0.8, 0), (0.1, 1)])
def test_a_run_writes_the_table_and_the_file(target, code, monkeypatch, tmp_path, capsys):
    row = {"bench": "copy", **Row("copy, 10k ops", 0.2, 0.4, target, "import").as_dict()}
    monkeypatch.setattr(frame, "available", lambda: ["copy"])
    monkeypatch.setattr(frame, "run", lambda name, results: results.append(row) or True)
    file = tmp_path / "results.json"
    assert frame.main(["copy", "--json", str(file)]) == code
    assert ("| yes |" if code == 0 else "| NO |") in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["rows"] == [row]
    assert written["versions"]["cores"]


def test_a_benchmark_that_ends_with_an_error_fails_the_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(frame, "available", lambda: ["copy"])
    monkeypatch.setattr(frame, "run", lambda name, results: False)
    assert frame.main(["--json", str(tmp_path / "r.json")]) == 1
    assert "bench_copy ended with an error" in capsys.readouterr().err


def test_an_unknown_name_shows_the_known_ones(monkeypatch, capsys):
    monkeypatch.setattr(frame, "available", lambda: ["copy", "walks"])
    with pytest.raises(SystemExit):
        frame.main(["wlaks"])
    assert "no benchmark wlaks; there are: copy, walks" in capsys.readouterr().err


@pytest.mark.parametrize("name", frame.available())
def test_each_benchmark_has_rows_and_a_reason(name):
    module = importlib.import_module(f"benchmarks.bench_{name}")
    assert callable(module.rows)
    assert module.__doc__


@pytest.mark.deep
def test_peak_memory_counts_what_a_copy_holds():
    if not peak_module.can_measure():
        pytest.skip("this system does not tell a process its peak")
    assert 25 < peak_module.peak("benchmarks.bench_copy", "copying", "theirs", "heavy", 1) < 400


def test_the_interpreter_with_tf115_reaches_the_processes_of_the_benchmarks(monkeypatch, tmp_path):
    monkeypatch.setenv(peer_module.PEER_PATH, "")
    seen = []
    monkeypatch.setattr(frame, "available", lambda: ["copy"])
    monkeypatch.setattr(frame, "run", lambda *_: seen.append(os.environ[peer_module.PEER_PATH]) or True)
    assert frame.main(["--tf115", "python3.7", "--json", str(tmp_path / "r.json")]) == 0
    assert seen == ["python3.7"]


def test_without_it_the_row_is_said_to_be_skipped(monkeypatch, capsys):
    monkeypatch.delenv(peer_module.PEER_PATH, raising=False)
    assert peer_module.peer_seconds(None, 1, "ge.copy") is None
    assert "skipped: ge.copy: no interpreter with TensorFlow 1.15" in capsys.readouterr().err


@pytest.mark.parametrize(("ending", "code"), [("print('{\"seconds\": 0.25}')", 0), ("sys.exit('no contrib')", 1)])
def test_the_peer_gets_the_graph_and_tells_its_time(ending, code, monkeypatch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"import os, sys\nassert os.path.getsize(sys.argv[1]) and sys.argv[2] == '2'\n{ending}\n")
    monkeypatch.setattr(peer_module, "PROGRAM", program)
    monkeypatch.setenv(peer_module.PEER_PATH, sys.executable)
    if code == 0:
        assert peer_module.peer_seconds(tiny(), 2, "ge.copy") == 0.25
        return
    with pytest.raises(RuntimeError, match="could not copy the graph: no contrib"):
        peer_module.peer_seconds(tiny(), 2, "ge.copy")
