"""Sessions: what is private in sessions; each use was tried on TF 2.16 to 2.21."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

#: The methods through which all runs of a session go: they know what is run. Of callables, the one that makes them.
RUN, EXTEND_AND_RUN, MAKE_CALLABLE = "_do_run", "_call_tf_sessionrun", "_make_callable_from_options"


def callable_of(session: Any, options: Any) -> Any:
    """Returns what runs a session by `CallableOptions`, whatever static shapes say; None where nothing does."""
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
    """Returns whether a session was closed; one that does not say was not."""
    return bool(getattr(session, "_closed", False))


def catch_up(session: Any) -> None:
    """Lets a session learn all ops of its graph, which otherwise its first run does."""
    learn = getattr(session, "_extend_graph", None)
    if learn is not None:
        learn()


def knows(session: Any, op: Any) -> bool:
    """Returns whether a session has learnt of an op: each of its runs learns of all that are there by then.

    A session that has never run learns now. One that does not say knows all.
    """
    run = getattr(innermost(session), EXTEND_AND_RUN, None)
    if run is None:
        return True
    try:
        run(None, {}, [], [op._c_op], None)
    except tf.errors.NotFoundError as error:
        return op.name not in str(error.message).partition("nodes not found:")[2].split()
    except (tf.errors.OpError, RuntimeError):  # what cannot run says so where it is run
        return True
    return True


def is_local(session: Any) -> bool:
    """Returns whether a session shares its variables with no other: it runs in this process, on no server."""
    return getattr(innermost(session), "sess_str", None) in (b"", "")
