"""Settings: plan steps that set attributes, devices and control inputs of ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..graph.devices import parts
from ..words import few, one_or_all
from .edits import EditStep, fault, limits, numbers_of, touch, wait
from .rewiring import order_fault
from .sources import Sources, literal

if TYPE_CHECKING:
    from .effect import Effect


@dataclass(frozen=True)
class SetStep(EditStep):
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    device: str | None = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        if self.device is not None:
            return f"place {few(self.ops)} on {self.device or 'any device'}"
        return f"set {', '.join(name for name, _ in self.attributes)} of {few(self.ops)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        if self.device is not None:
            return f".set_device({one_or_all(self.ops)!r}, {self.device!r})"
        name, value = self.attributes[0]
        return f".set_attr({one_or_all(self.ops)!r}, {name!r}, {literal(value)})"

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan; a value that is no code is a parameter."""
        if self.device is not None:
            return self.code
        name, value = self.attributes[0]
        return f".set_attr({one_or_all(self.ops)!r}, {name!r}, {literal(value, sources)})"

    def carry(self, effect: Effect) -> None:
        """Notes what is set."""
        numbers = numbers_of(effect, self.asked, self.ops)
        if numbers is None:
            return
        if self.device is not None and parts(self.device) is None:
            fault(effect, self.asked, f"{self.device!r} is no device", "Type one as '/cpu:0' or '/job:ps/task:1'")
            return
        for name, value in self.attributes:
            if value is None and not name.startswith("_"):
                wrong = f"{name!r} is an attribute that the op type needs"
                fault(effect, self.asked, wrong, "Only attributes that begin with '_' can be cleared")
                return
        for number in numbers:
            change = touch(effect, number)
            change.attributes.update(self.attributes)
            if self.attributes:
                effect.by[number] = effect.step
            change.device = self.device if self.device is not None else change.device


@dataclass(frozen=True)
class OrderStep(EditStep):
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: str
    others: tuple[str, ...] | None
    remove: bool

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        whom = "anything" if self.others is None else few(self.others)
        return f"let {self.op} run {'without waiting for' if self.remove else 'after'} {whom}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        if self.others is None:
            return f".remove_control({self.op!r})"
        return f".{'remove' if self.remove else 'add'}_control({self.op!r}, {one_or_all(self.others)!r})"

    def carry(self, effect: Effect) -> None:
        """Sets the control inputs."""
        graph = effect.bench
        me = numbers_of(effect, self.asked, (self.op,))
        others = numbers_of(effect, self.asked, self.others or ())
        if me is None or others is None:
            return
        have = graph.waits(me[0])
        if self.remove:
            leave = have if self.others is None else others
            missing = [graph.names[i] for i in leave if i not in have]
            if missing:
                now = ", ".join(repr(graph.names[i]) for i in have) or "nothing"
                fault(effect, self.asked, f"{self.op!r} does not wait for {missing[0]!r}", f"It waits for {now}")
                return
            wait(effect, me[0], [i for i in have if i not in leave])
        else:
            trouble = order_fault(graph, [(me[0], i) for i in others], self.asked)
            if trouble:
                effect.faults.append(trouble)
                return
            wait(effect, me[0], list(dict.fromkeys([*have, *others])))


@dataclass(frozen=True)
class RerouteOrderStep(EditStep):
    """What waits for an op waits for others; see `Plan.reroute_control`."""

    old: str
    to: tuple[str, ...]
    only: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        whom = "what waits" if self.only is None else few(self.only)
        more = f" but {few(self.but)}" if self.but else ""
        return f"let {whom}{more} for {self.old} wait for {few(self.to)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return f".reroute_control({self.old!r}, to={one_or_all(self.to)!r}{limits(self.only, self.but)})"

    def carry(self, effect: Effect) -> None:
        """Sets the control inputs of what waits."""
        graph = effect.bench
        old, new = numbers_of(effect, self.asked, (self.old,)), numbers_of(effect, self.asked, self.to)
        if old is None or new is None:
            return
        waiting = graph.waiting(old[0])
        keep = None if self.only is None else set(self.only)
        ops = [i for i in waiting if graph.names[i] not in self.but and (keep is None or graph.names[i] in keep)]
        if not ops:
            now = few([repr(graph.names[i]) for i in waiting], 6) or "nothing"
            wrong = f"no op that is meant waits for {self.old!r}"
            fault(effect, self.asked, wrong, f"What waits for it: {now}")
            return
        rows = {}
        for op in ops:
            rest = [i for i in graph.waits(op) if i != old[0]]
            rows[op] = list(dict.fromkeys([*rest, *new]))
        trouble = order_fault(graph, [(op, i) for op in ops for i in new], self.asked)
        if trouble:
            effect.faults.append(trouble)
            return
        for op, waits in rows.items():
            wait(effect, op, waits)
