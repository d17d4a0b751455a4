"""What the pages tell people to type: the commands exist, the Python runs, the links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
import tensorflow as tf
from PIL import Image

from tests.needs import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/development.md"]
TAUGHT = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
TAUGHT.remove("docs/cookbook.md")  # its blocks begin from what tests/test_cookbook.py gives them


def blocks(page: str, language: str) -> list[str]:
    """Returns the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def targets() -> set[str]:
    """Returns the targets of the Makefile."""
    (listed,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.M)
    return set(listed.split())


@pytest.mark.parametrize("page", [page for page in TAUGHT if blocks(page, "python")])
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks run in order, sharing their names, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default() as graph:  # the README opens a file of the reader's own
        tf.compat.v1.placeholder(tf.float32, [None], name="x")
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks(page, "python"), 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, f"{page}, Python block {number}", "exec"), names)
        for line in re.findall(r"# ?> (.*)", block):
            assert line in out.getvalue(), f"{page} promises {line!r}, printed was:\n{out.getvalue()}"


@pytest.mark.parametrize("page", PAGES)
def test_make_commands_exist(page):
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", (ROOT / page).read_text(), re.M))
    assert {name for pair in named for name in pair if name} <= targets()


def test_every_target_is_explained():
    makefile = (ROOT / "Makefile").read_text()
    explained = set(re.findall(r'echo "make ([\w-]+)', makefile))
    assert explained == targets() - {"help"}
    for target in targets():
        assert re.search(rf"^{target}:", makefile, re.M), f"{target} has no recipe"


@pytest.mark.parametrize("page", [*PAGES[:3], *TAUGHT[1:], "docs/cookbook.md"])
def test_links_lead_to_files(page):
    shown = re.sub(r"<!--.*?-->|```.*?```|`[^`\n]*`(?!\])", "", (ROOT / page).read_text(), flags=re.S)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", shown)
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert not missing, f"{page} links to files that are not there: {missing}"


def test_every_notebook_is_in_the_table():
    page = (ROOT / "README.md").read_text()
    missing = [p.name for p in (ROOT / "notebooks").glob("*.ipynb") if f"notebooks/{p.name}" not in page]
    assert not missing


def test_readme_can_be_read_at_a_sitting():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) < 150
    install = next(i for i, line in enumerate(lines) if line.startswith("pip install"))
    assert any("NVIDIA" in line for line in lines[install : install + 5]), "the clash of names stands there"


def test_recording_is_small_and_shows_more_than_one_picture():
    """It is made by tools/write_recording.py; what it shows is for a person to look at."""
    file = ROOT / "docs" / "recording.webp"
    assert file.stat().st_size < 3_000_000
    assert f"](docs/{file.name})" in (ROOT / "README.md").read_text()
    with Image.open(file) as film:
        assert film.n_frames > 20
        assert film.info["loop"] == 0
        first = film.convert("RGB")
        film.seek(film.n_frames - 1)
        assert film.convert("RGB").tobytes() != first.tobytes()


def test_each_promise_of_security_names_a_test_that_is_there():
    text = (ROOT / "SECURITY.md").read_text()
    files, names = set(re.findall(r"`(tests/[\w/]+\.py)`", text)), set(re.findall(r"`(test_\w+)`", text))
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []
    defined = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in sorted(names) if f"def {name}(" not in defined] == []
    assert len(files | names) > 10


def test_the_screen_guide_describes_each_numbered_part():
    """tools/write_screenshot.py numbers the parts; their classes are those of the front end."""
    text = (ROOT / "tools" / "write_screenshot.py").read_text()
    parts = re.findall(r'"(\.gs-[^"]+)"', text.partition("PARTS = [")[2].partition("]")[0])
    guide = (ROOT / "docs" / "guides" / "screen.md").read_text()
    assert list(map(int, re.findall(r"^\| (\d+) \|", guide, re.M))) == list(range(1, len(parts) + 1))
    sources = "".join(p.read_text() for p in (ROOT / "graphsurgeon/ui/frontend/src").rglob("*.ts"))
    for name in re.findall(r"\.(gs-[\w-]+)", " ".join(parts)):
        stem = re.sub(r"-(source|destination)$", "-", name)  # `gs-pane-${name}`
        assert stem in sources, name
