"""Before: an editor of the graph as it was before the last plan."""

from __future__ import annotations

from typing import Any

from .errors import PlanError
from .graph.opened import Opened
from .history import History
from .plan.subject import Subject
from .transfer import transfer


def before(editor: Subject) -> Any:
    """Returns an editor of the graph before the last plan, as `Editor.before` does."""
    done = [event for event in editor.history if not event.undone]
    if not done:
        raise PlanError("before()", "no plan is applied", "Apply one first; ed.redo() does again what was undone")
    event = done[-1]
    if event.before is None:
        return editor
    renamed = event.applied.effect.renamed
    about = editor.opened.ends_as(History(done[:-1]).renamed)
    title = f"{editor.title} before step {event.number}"
    make: Any = type(editor)
    older = make(Opened(event.before, title, **about))
    then, now = (one.snapshot.state.variables for one in (older, editor))
    known = {renamed.get(name, name): name for name in then}
    pairs = {new: old for new, old in known.items() if new in now}
    if pairs:
        transfer(editor, older, names=pairs)
    return older
