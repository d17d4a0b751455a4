"""The workflows test every system, and build the site with the tool that `make docs` uses."""

from __future__ import annotations

from typing import Any

import yaml

from tests.needs import ROOT


def workflow(name: str) -> dict[str, Any]:
    """Returns a workflow; YAML reads its key `on` as true."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    assert "secrets." not in text
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def commands(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_each_pull_request_is_tested_on_three_systems_and_with_old_and_new_packages():
    found = workflow("test")
    jobs = found["jobs"]
    assert "pull_request" in found[True]
    systems = {*jobs["test"]["strategy"]["matrix"]["os"], jobs["windows"]["runs-on"], jobs["compat"]["runs-on"]}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    assert jobs["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    assert "make test" in commands(jobs["test"])
    assert "pytest" in commands(jobs["windows"])
    assert "make compat" in commands(jobs["compat"])


def test_the_site_is_built_by_the_same_tool_everywhere():
    tool = "python tools/build_docs.py"
    made = (ROOT / "Makefile").read_text().partition("\ndocs:")[2].partition("\n\n")[0]
    assert tool.removeprefix("python ") in made
    jobs = workflow("docs")["jobs"]
    assert tool in commands(jobs["build"])
    (upload,) = [step for step in jobs["build"]["steps"] if "upload-pages" in step.get("uses", "")]
    assert upload["with"]["path"] == "build/docs"
    assert "permissions" not in jobs["build"], "only the job that publishes has rights"
    assert jobs["publish"]["needs"] == "build"
    assert "refs/heads/main" in jobs["publish"]["if"]
    hosted = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text())
    assert hosted["version"] == 2
    assert any(line.startswith(tool) for line in hosted["build"]["jobs"]["build"]["html"])
