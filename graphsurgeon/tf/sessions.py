"""Sessions: give a session the values that copies are to have, and carry values between sessions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .copying import Made
from .variables import assign, fetch, initialise, variable_infos

tf1 = tf.compat.v1


def fresh(graph: Any, values: Any, config: Any, skip: frozenset[str]) -> Any:
    """Returns a new session, its variables filled from `values`, all others initialised.

    Args:
        graph: the live graph.
        values: a `Values`, or None for initial values.
        config: a ConfigProto or None.
        skip: variables that get their values later.
    """
    session = tf1.Session(graph=graph, config=config)
    infos = {name: info for name, info in variable_infos(graph).items() if name not in skip}
    if values is None:
        initialise(session, graph, infos.values())
    else:
        values.fill(session)
        held = values.covered()
        # A saver may leave variables out, as the slots of an optimizer: these start anew.
        initialise(session, graph, [i for name, i in infos.items() if i.collections and name not in held])
    return session


def settle(session: Any, graph: Any, made: Made) -> None:
    """Gives the variables that a plan has made their values in `session`."""
    starters = [made.infos[name] for name in made.initial]
    initialise(session, graph, starters)
    assign(session, graph, made.values, made.infos)


def renewed(old: Any, graph: Any, config: Any) -> Any:
    """Returns a session of `graph` with the values that variables of the same names have in `old`.

    Raises:
        PlanError: a variable of the old session has no value.
    """
    session = tf1.Session(graph=graph, config=config)
    before, now = variable_infos(old.graph), variable_infos(graph)
    both = [before[name] for name in before if name in now and now[name].initializer]
    initialise(session, graph, [info for name, info in now.items() if name not in before])
    assign(session, graph, fetch(old, both, old.graph, "session(old)"), now)
    return session
