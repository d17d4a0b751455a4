"""A release: its files are built and checked as on the day, and what must not go out does not."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import graphsurgeon as gs
from tests.needs import ROOT

RELEASE: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "release.py"))
WRONG = RELEASE["Wrong"]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The files of a release, made by a dry run in a process of its own."""
    folder = tmp_path_factory.mktemp("dist")
    (folder / "tf_graphsurgeon-0.0.1-py3-none-any.whl").touch()
    command = [sys.executable, "tools/release.py", "--to", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{gs.__version__} is ready; nothing was published, this was a dry run.\n")
    return folder


def test_a_dry_run_makes_a_wheel_and_an_sdist(built):
    names = sorted(path.name for path in built.iterdir())
    assert names == [f"tf_graphsurgeon-{gs.__version__}-py3-none-any.whl", f"tf_graphsurgeon-{gs.__version__}.tar.gz"]


def changed(wheel: Path, to: Path, without: str = "", more: str = "", text: dict[str, str] | None = None) -> Path:
    """Writes the wheel again with a file less or more, or with other text."""
    out = to / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(out, "w") as archive:
        for name in source.namelist():
            if not without or not re.search(without, name):
                new = next((new for part, new in (text or {}).items() if name.endswith(part)), None)
                archive.writestr(name, source.read(name) if new is None else new)
        if more:
            archive.writestr(more, "")
    return out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"without": r"static/widget\.js$"}, "lacks graphsurgeon/ui/static/widget.js"),
        ({"without": r"graphsurgeon/errors\.py$"}, "lacks graphsurgeon/errors.py"),
        ({"without": "LICENSE"}, r"lacks tf_graphsurgeon-[\d.]+.dist-info/licenses/LICENSE"),
        ({"without": "NOTICE"}, r"lacks tf_graphsurgeon-[\d.]+.dist-info/licenses/NOTICE"),
        ({"more": "tests/test_x.py"}, "holds what is not of the package: tests/test_x.py"),
        ({"more": "graphsurgeon/ui/frontend/src/a.ts"}, "holds what is not of the package: .*frontend/src/a.ts"),
        ({"more": "secrets.env"}, "holds what is not of the package: secrets.env"),
        ({"without": "entry_points"}, "installs no command `graphsurgeon`"),
        ({"text": {"entry_points.txt": "[console_scripts]\ngraphsurgeon = os:abort\n"}}, "installs no command"),
    ],
)
def test_a_wheel_that_is_not_right_is_refused(built, tmp_path, change, said):
    (wheel,) = built.glob("*.whl")
    RELEASE["check_wheel"](wheel, ROOT)
    with pytest.raises(WRONG, match=said):
        RELEASE["check_wheel"](changed(wheel, tmp_path, **change), ROOT)


def test_an_sdist_that_makes_another_wheel_is_refused(built, tmp_path):
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    other = changed(wheel, tmp_path, text={"graphsurgeon/errors.py": "x = 1\n"})
    with pytest.raises(
        WRONG, match=r"the wheel built from tf_graphsurgeon-.*\.tar\.gz differs in graphsurgeon/errors\.py"
    ):
        RELEASE["same_from_sdist"](sdist, other)


def test_what_pypi_would_refuse_is_refused(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    broken = changed(wheel, tmp_path, text={"METADATA": "Metadata-Version: 2.4\nName: tf-graphsurgeon\n"})
    with pytest.raises(WRONG, match="-m twine --no-color failed:\n"):
        RELEASE["accepted"](broken)


def test_the_version_is_the_same_in_all_places(tmp_path):
    assert RELEASE["version"](ROOT, f"v{gs.__version__}") == gs.__version__
    with pytest.raises(
        WRONG, match=rf"the versions differ: .*__init__.py says {gs.__version__}, .*, the tag says 9\.9"
    ):
        RELEASE["version"](ROOT, "v9.9")
    for name in ("graphsurgeon/__init__.py", "CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    with pytest.raises(WRONG, match=r"CHANGELOG\.md says none"):
        RELEASE["version"](tmp_path)


def test_the_command_line_says_what_is_wrong(tmp_path, capsys):
    assert RELEASE["main"](["--to", str(tmp_path / "dist"), "--tag", "v9.9"]) == 1
    assert "release: the versions differ: " in capsys.readouterr().err
    assert not (tmp_path / "dist").exists(), "nothing is built then"


def test_the_citation_says_what_the_project_says():
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(about), "what the format requires"
    assert about["license"] == "Apache-2.0"
    found = re.search(r"^## (\S+) · (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert found
    assert [str(about["version"]), str(about["date-released"])] == [found[1], found[2]]


def test_what_is_published_was_built_and_checked_by_make_release():
    """And the rights are those of trusted publishing: no job has a password, and the build has none of the rights."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert any(step.get("run", "").startswith("make release") for step in jobs["build"]["steps"])
    publish = jobs["publish"]
    assert publish["needs"] == "build"
    assert publish["if"] == "github.ref_type == 'tag'"
    uses = [step["uses"].partition("@")[0] for step in publish["steps"]]
    order = ["actions/download-artifact", "actions/attest-build-provenance", "pypa/gh-action-pypi-publish"]
    assert uses == order
    assert publish["permissions"]["id-token"] == "write"
    assert "permissions" not in jobs["build"]
    assert "secrets." not in text


@pytest.mark.parametrize("name", ["bug", "wish"])
def test_forms_of_issues_have_what_github_asks(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert form["name"]
    assert form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["type"] == "textarea" and part["attributes"]["label"] for part in form["body"])
