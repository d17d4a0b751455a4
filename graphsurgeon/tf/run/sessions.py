"""The devices of sessions, the only function that makes sessions, fetches and feeds by name; `run_graph` runs them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ...errors import PlanError, SelectionError, TrustError
from ...graph.lazy_graph import is_materialized, lazy_graph_of
from ...graph.names import device_parts, tensor_name
from ...graph.security import GraphOrigin, Risks, origins
from ...graph.types import TFGraph, TFSession
from ..import_tensorflow import tf
from ..open.snapshot import snapshot
from ..private.graphs import config_of, kernel_devices
from ..protos import empty_graph
from .errors import error_text

tf1 = tf.compat.v1

#: The errors of a session if a task of its cluster has ended, or has restarted without its state.
LOST_SERVER_ERRORS = (
    tf.errors.AbortedError,
    tf.errors.UnavailableError,
    tf.errors.DeadlineExceededError,
    tf.errors.CancelledError,
)


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
        with session_of(empty_graph(), target, limited) as session:
            return [device.name for device in session.list_devices()]
    except LOST_SERVER_ERRORS as error:
        raise PlanError(
            request,
            f"the cluster does not answer within {seconds:g} s",
            "Start a tf.distribute.Server for every task; if only some are needed, name them in "
            "config=tf.compat.v1.ConfigProto(device_filters=['/job:worker/task:0'])",
        ) from error
    except (tf.errors.OpError, ValueError, TypeError) as error:
        raise PlanError(request, error_text(error), "Give 'grpc://host:port' of a tf.distribute.Server") from error


def new_session(graph: TFGraph, target: str, config: Any, seconds: float) -> TFSession:
    """Returns a session of a graph, after it has checked that the cluster answers in time.

    Raises:
        PlanError: the cluster does not answer.
    """
    if target:
        devices_of(target, config, seconds)
    return session_of(graph, target, config)


def refuse_missing_at(device: Any, target: str, config: Any, seconds: float) -> None:
    """Refuses devices that a session with this target would not have; see `refuse_missing`."""
    _require_devices(device, devices_of(target, config, seconds), config)


def refuse_missing(device: Any, session: TFSession) -> None:
    """Refuses devices that a session does not have; a session that lists no devices (a monitored one) passes."""
    if hasattr(session, "list_devices"):
        _require_devices(device, [d.name for d in session.list_devices()], config_of(session))


def _require_devices(device: Any, available: list[str], config: Any) -> None:
    """Refuses devices that do not exist.

    Args:
        device: an argument `device` of a plan; only the device names in it are checked.
        available: the full names of the devices of the session.
        config: its ConfigProto; with soft placement, TensorFlow replaces devices that do not exist.

    Raises:
        PlanError: a device does not exist.
    """
    pairs = device.items() if isinstance(device, dict) else [("*", device)] if isinstance(device, str) else device
    names = [new for _, new in pairs]
    devices = [device_parts(name) or {} for name in available]
    for name in names:
        fields = device_parts(name) if isinstance(name, str) and name not in ("keep", "clear") else None
        if not fields:
            continue
        if config is not None and config.allow_soft_placement:
            fields = {key: value for key, value in fields.items() if key != "device"}
        if not any(
            all(_matches(device_fields.get(key, ""), value) for key, value in fields.items())
            for device_fields in devices
        ):
            choices = sorted({_short_name(name) for name in available if "XLA" not in name})
            raise PlanError(
                f"duplicate(device={name!r})",
                "there is no such device",
                f"Choose one of {', '.join(map(repr, choices))}",
            )


def _matches(available: str, required: str) -> bool:
    return required in (available, "*") or available.partition(":")[0] == required


def _short_name(name: str) -> str:
    """Returns a device name without the replica, and without the job if the device is in this process."""
    fields = device_parts(name) or {}
    kind = fields.get("device", "").lower()
    if fields.get("job") == "localhost":
        return f"/{kind}"
    return f"/job:{fields.get('job')}/task:{fields.get('task')}/{kind}"


def without_kernel(kinds: Iterable[str], functions: Container[str]) -> dict[str, list[str]]:
    """Returns op type that cannot run on this machine -> the types of devices on which it can run.

    Args:
        kinds: op types.
        functions: names of functions, which need no kernel.

    Example:
        >>> without_kernel(["MatMul", "CudnnRNN"], ())
        {'CudnnRNN': ['GPU']}
    """
    available = {"DEFAULT", *(device.device_type for device in tf.config.list_logical_devices())}
    devices = {}
    for kind in kinds:
        supported = None if kind in functions else kernel_devices(kind)
        if supported is not None and supported.isdisjoint(available):
            devices[kind] = sorted(supported)
    return devices


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
    require_trusted(graph, request)
    return tf1.Session(target, graph=graph, config=config)


def require_trusted(graph: TFGraph, request: str) -> None:
    """Refuses to run a graph that came from a file, has ops that reach out of it, and was not trusted.

    Raises:
        TrustError: these conditions are true; the message names the ops.
    """
    reason = untrusted_reason(graph)
    if reason:
        raise TrustError(request, reason, INSTEAD)


#: The suggestion for a graph that is not trusted.
INSTEAD = "ed.risks() describes these ops. If you trust the file, call ed.trust(), or gs.open(..., trust=True)"


def untrusted_reason(graph: TFGraph) -> str:
    """Returns a sentence with the reason why a graph must not run; empty if it may run."""
    for origin, risks in _remaining_risks(graph):
        if not origin.trusted:
            return _sentence(origin, risks.summary)
    return ""


def has_external_effects(graph: TFGraph) -> bool:
    """Returns whether a graph still has ops from a file that reach out of the graph, trusted or not."""
    return next(_remaining_risks(graph), None) is not None


def _remaining_risks(graph: TFGraph) -> Iterator[tuple[GraphOrigin, Risks]]:
    """Yields each file from which a graph still has ops that reach out of the graph, with the risks of these ops."""
    risky_origins = [origin for origin in origins(graph) if origin.risks]
    if not risky_origins:
        return
    waiting = lazy_graph_of(graph)
    current = waiting.read if waiting is not None and not is_materialized(graph) else snapshot(graph)
    for origin in risky_origins:
        risks = origin.risks_in(current)
        if risks:
            yield origin, risks


def _sentence(origin: GraphOrigin, text: str) -> str:
    return f"{origin.title} came from a file that you have not trusted yet: it holds {text}"


#: Returns the counterpart of an object of another graph.
Translate = Callable[[Any], Any]


def resolve_fetches(obj: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None) -> Any:
    """Returns the ops and tensors to run, in the given structure; names are replaced by ops and tensors.

    Args:
        obj: a name, an op, tensor or variable, or a structure of these, as for `Session.run`.
        request: the request, for messages; the name replaces ``{}``.
        graph: the graph of the run.
        title: the name of the graph in messages.
        translate: a function that returns the counterpart of an object of another graph; None if there are none.

    Raises:
        SelectionError: a name does not exist (the message proposes similar names), or an object is of another graph.
    """
    if isinstance(obj, Mapping):
        return {key: resolve_fetches(value, request, graph, title, translate) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        items = [resolve_fetches(item, request, graph, title, translate) for item in obj]
        return type(obj)(*items) if hasattr(obj, "_fields") else type(obj)(items)
    if isinstance(obj, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(obj)
        base = snapshot(graph, title=title)
        (base.tensor if ":" in obj else base.find)(obj, request.format(repr(obj)))
        return graph.as_graph_element(obj)
    other = getattr(obj, "graph", graph)
    if other is None or other is graph:
        return obj
    if translate is not None:
        return translate(obj)
    name = getattr(obj, "name", type(obj).__name__)
    problem = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(request.format(repr(name)), problem, "Give the object of this graph, or its name as text")


def resolve_feeds(
    feeds: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None
) -> dict[Any, Any]:
    """Returns the feeds, tensor -> value; arguments as in `resolve_fetches`.

    Raises:
        SelectionError: as in `resolve_fetches`; or the feeds are not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        problem = f"{type(feeds).__name__} is not a mapping"
        raise SelectionError(request.format("feeds=..."), problem, "Give {'x:0': array}")
    items = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {resolve_fetches(key, request, graph, title, translate): value for key, value in items}
