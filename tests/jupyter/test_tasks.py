"""Tasks by mouse alone and by keyboard alone: the gestures are counted, and the printed code does the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jupyter.tasks import CELLS, again, digest, each
from tests.lab import open_notebook

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("kind", ["lab", "notebook7"])
def test_tasks_take_few_gestures_and_their_code_does_the_same(page: Any, kind: str, request: Any) -> None:
    server = request.getfixturevalue(kind)
    notebook = open_notebook(page, server, CELLS)
    scripts, made = [], []
    for task, way, person in each(page, notebook):
        print(f"{task.name}, {way}: {len(person.gestures)}: {'; '.join(person.gestures)}")
        assert len(person.gestures) <= task.limit, (task.name, person.gestures)
        saved = notebook.ask("view.plan['saved'].get('code', '')")
        scripts.append((notebook.ask("ed.to_code()"), saved, digest(task.made)))
        made.append(notebook.ask(digest(task.made)))
        assert way == "mouse" or made[-2] == made[-1], task.name
    assert again(scripts, server.root) == made
    notebook.close()
