"""What the pages tell people to type: the commands exist, the Python runs, the links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from tests.needs import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def blocks(page: str, language: str) -> list[str]:
    """Returns the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def targets() -> set[str]:
    """Returns the targets of the Makefile."""
    (listed,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.M)
    return set(listed.split())


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    """The blocks run in order, sharing their names, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    code = blocks("README.md", "python")
    assert code
    for number, block in enumerate(code, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, f"README.md, Python block {number}", "exec"), names)
        for line in re.findall(r"#> (.*)", block):
            assert line in out.getvalue(), f"the README promises {line!r}, printed was:\n{out.getvalue()}"


@pytest.mark.parametrize("page", PAGES)
def test_make_commands_exist(page):
    named = set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)", (ROOT / page).read_text(), re.M))
    assert {name for pair in named for name in pair if name} <= targets()


def test_every_target_is_explained():
    makefile = (ROOT / "Makefile").read_text()
    explained = set(re.findall(r'echo "make (\w+)', makefile))
    assert explained == targets() - {"help"}
    for target in targets():
        assert re.search(rf"^{target}:", makefile, re.M), f"{target} has no recipe"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    shown = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text(), flags=re.S)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", shown)
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing, f"{page} links to files that are not there: {missing}"


def test_every_notebook_is_in_the_table():
    page = (ROOT / "README.md").read_text()
    missing = [p.name for p in (ROOT / "notebooks").glob("*.ipynb") if f"notebooks/{p.name}" not in page]
    assert not missing
