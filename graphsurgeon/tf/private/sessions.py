"""Sessions: private parts of sessions; each use was tried on TF 2.16 to 2.21."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

#: The methods that all runs of a session go through with their ops; for callables, the method that makes them.
RUN, EXTEND_AND_RUN, MAKE_CALLABLE = "_do_run", "_call_tf_sessionrun", "_make_callable_from_options"


def callable_of(session: Any, options: Any) -> Any:
    """Returns a callable that runs a session by `CallableOptions` and ignores static shapes; None if not available."""
    make = getattr(session, MAKE_CALLABLE, None)
    return make and make(options)


def innermost(session: Any) -> Any:
    """Returns the session that a monitored or a debugged one wraps."""
    while not hasattr(session, RUN):
        inside = getattr(session, "_tf_sess", None)
        inner = inside() if callable(inside) else getattr(session, "_sess", None)
        if inner is None:
            break
        session = inner
    return session


def config_of(session: Any) -> Any:
    """Returns the ConfigProto that a session was made with, or None."""
    return getattr(session, "_config", None)


def is_closed(session: Any) -> bool:
    """Returns whether a session was closed; False if that is not known."""
    return bool(getattr(session, "_closed", False))


def catch_up(session: Any) -> None:
    """Makes a session load all ops of its graph, which otherwise happens in its first run."""
    learn = getattr(session, "_extend_graph", None)
    if learn is not None:
        learn()


def knows(session: Any, op: Any) -> bool:
    """Returns whether a session has loaded an op: each of its runs loads all ops of the graph at that time.

    A session that has never run loads them now. True if it cannot be checked.
    """
    run = getattr(innermost(session), EXTEND_AND_RUN, None)
    if run is None:
        return True
    try:
        run(None, {}, [], [op._c_op], None)
    except tf.errors.NotFoundError as error:  # TensorFlow lists the ops in its text only
        return op.name not in str(error.message).partition("nodes not found:")[2].split()
    except (tf.errors.OpError, RuntimeError):  # a real run reports its own error
        return True
    return True


def is_local(session: Any) -> bool:
    """Returns whether a session shares its variables with no other session: it runs in this process, on no server."""
    return getattr(innermost(session), "sess_str", None) in (b"", "")
