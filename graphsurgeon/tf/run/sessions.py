"""The devices of a session, and the one function that makes sessions, which checks that the graph is trusted."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from ...errors import PlanError, TrustError
from ...graph.lazy_graph import filled, pending
from ...graph.names import parts
from ...graph.security import Origin, Risks, origins
from ...graph.tf_types import TFGraph, TFSession
from ..importing import tf
from ..open.snapshot import snapshot
from ..private.graphs import kernel_devices
from ..private.sessions import config_of
from ..protos import fresh
from .errors import words_of

tf1 = tf.compat.v1

#: The errors of a session when a task of its cluster is gone, or has restarted without its state.
LOST = (tf.errors.AbortedError, tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.CancelledError)


def devices_of(target: str, config: Any = None, seconds: float = 10.0) -> list[str]:
    """Returns the devices that a session with this target would have.

    Args:
        target: ``"grpc://host:port"`` of a server, or empty for this process.
        config: the ConfigProto of the session, or None.
        seconds: how long to wait for the cluster.

    Raises:
        PlanError: there is no server, or a task of the cluster does not answer.
    """
    request = f"target={target!r}"
    limited = tf1.ConfigProto()
    if config is not None:
        limited.CopyFrom(config)
    limited.operation_timeout_in_ms = max(1, round(seconds * 1000))
    try:
        with session_of(fresh(), target, limited) as session:
            return [device.name for device in session.list_devices()]
    except LOST as error:
        raise PlanError(
            request,
            f"the cluster does not answer within {seconds:g} s",
            "Start a tf.distribute.Server for every task; if only some are needed, name them in "
            "config=tf.compat.v1.ConfigProto(device_filters=['/job:worker/task:0'])",
        ) from error
    except (tf.errors.OpError, ValueError, TypeError) as error:
        raise PlanError(request, words_of(error), "Give 'grpc://host:port' of a tf.distribute.Server") from error


def new_session(graph: TFGraph, target: str, config: Any, seconds: float) -> TFSession:
    """Returns a session of a graph, if its cluster answers in time.

    Raises:
        PlanError: the cluster does not answer.
    """
    if target:
        devices_of(target, config, seconds)
    return session_of(graph, target, config)


def refuse_missing_at(device: Any, target: str, config: Any, seconds: float) -> None:
    """Refuses devices that a session with this target would not have; see `refuse_missing`."""
    _refuse(device, devices_of(target, config, seconds), config)


def refuse_missing(device: Any, session: TFSession) -> None:
    """Refuses devices that a session does not have; a session without a list of devices (a monitored one) passes."""
    if hasattr(session, "list_devices"):
        _refuse(device, [d.name for d in session.list_devices()], config_of(session))


def _refuse(device: Any, found: list[str], config: Any) -> None:
    """Refuses devices that do not exist.

    Args:
        device: an argument `device` of a plan; only the device names in it are checked.
        found: the full names of the devices of the session.
        config: its ConfigProto; with soft placement TensorFlow chooses another device by itself.

    Raises:
        PlanError: a device does not exist.
    """
    pairs = device.items() if isinstance(device, dict) else [("*", device)] if isinstance(device, str) else device
    wanted = [new for _, new in pairs]
    have = [parts(name) or {} for name in found]
    for name in wanted:
        asks = parts(name) if isinstance(name, str) and name not in ("keep", "clear") else None
        if not asks:
            continue
        if config is not None and config.allow_soft_placement:
            asks = {key: value for key, value in asks.items() if key != "device"}
        if not any(all(_same(here.get(key, ""), value) for key, value in asks.items()) for here in have):
            shown = sorted({_short(name) for name in found if "XLA" not in name})
            raise PlanError(
                f"duplicate(device={name!r})",
                "there is no such device",
                f"Choose one of {', '.join(map(repr, shown))}",
            )


def _same(have: str, want: str) -> bool:
    return want in (have, "*") or have.partition(":")[0] == want


def _short(name: str) -> str:
    """A device in its short form: without the replica, and without the job if it is in this process."""
    found = parts(name) or {}
    kind = found.get("device", "").lower()
    if found.get("job") == "localhost":
        return f"/{kind}"
    return f"/job:{found.get('job')}/task:{found.get('task')}/{kind}"


def without_kernel(kinds: Iterable[str], functions: Container[str]) -> dict[str, list[str]]:
    """Returns the op types that cannot run on this machine, each with the kinds of devices that it can run on.

    Args:
        kinds: op types.
        functions: names of functions, which need no kernel.

    Example:
        >>> without_kernel(["MatMul", "CudnnRNN"], ())
        {'CudnnRNN': ['GPU']}
    """
    here = {"DEFAULT", *(device.device_type for device in tf.config.list_logical_devices())}
    found = {}
    for kind in kinds:
        on = None if kind in functions else kernel_devices(kind)
        if on is not None and on.isdisjoint(here):
            found[kind] = sorted(on)
    return found


def session_of(graph: TFGraph, target: str = "", config: Any = None, request: str = "session()") -> Any:
    """Returns a new session of a graph.

    Args:
        graph: the graph.
        target: ``"grpc://host:port"`` of a server, or empty for this process.
        config: a ConfigProto, or None.
        request: the request, for messages.

    Raises:
        TrustError: the graph came from a file, has ops that reach out of it, and was not trusted.
    """
    refuse_untrusted(graph, request)
    return tf1.Session(target, graph=graph, config=config)


def refuse_untrusted(graph: TFGraph, request: str) -> None:
    """Refuses to run a graph that came from a file, has ops that reach out of it, and was not trusted.

    Raises:
        TrustError: the graph is such a graph; the message names the ops.
    """
    found = distrusted(graph)
    if found:
        raise TrustError(request, found, INSTEAD)


#: The suggestion for a graph that is not trusted.
INSTEAD = "ed.risks() describes these ops. If you trust the file, call ed.trust(), or gs.open(..., trust=True)"


def distrusted(graph: TFGraph) -> str:
    """Returns a sentence with the reason why a graph may not run; empty if it may."""
    for one, left in _reaching_out(graph):
        if not one.trusted:
            return _sentence(one, left.words)
    return ""


def reaches_out(graph: TFGraph) -> bool:
    """Returns whether a graph came from a file and still has ops of it that reach out, trusted or not."""
    return next(_reaching_out(graph), None) is not None


def _reaching_out(graph: TFGraph) -> Iterator[tuple[Origin, Risks]]:
    """Yields the files from which a graph still has ops that reach out of it, with the risks of these ops."""
    strange = [one for one in origins(graph) if one.risks]
    if not strange:
        return
    waiting = pending(graph)
    now = waiting.read if waiting is not None and not filled(graph) else snapshot(graph)
    for one in strange:
        left = one.left_in(now)
        if left:
            yield one, left


def _sentence(origin: Origin, words: str) -> str:
    return f"{origin.title} came from a file that you have not trusted yet: it holds {words}"
