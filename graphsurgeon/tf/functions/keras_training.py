"""Keras training: properties of a Keras model that its ops do not contain, such as losses, constraints and masks."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import few
from ...graph.graph import Graph, Mask
from ...graph.layers import LayerCall
from ...graph.names import op_name, rename_input
from ...graph.traversal import backward, producers
from ...graph.variables import FEED_TYPES, VARIABLE_TYPES


@dataclass(frozen=True, eq=False)
class LayerEffect:
    """The effect of a call of a layer on training, apart from its outputs.

    Args:
        layer: the layer.
        top: the layer of the model that contains the layer, or the layer itself.
        call: the ops of the call.
        losses: the tensors of the losses that the call adds; empty text for a loss that is not in the graph.
        differs: whether the layer behaves differently in training.
    """

    layer: Any
    top: Any
    call: LayerCall
    losses: tuple[str, ...]
    differs: bool


def differs(layer: Any) -> bool:
    """Returns whether a layer behaves differently in training: it draws random numbers, or updates averages."""
    if hasattr(layer, "layers") or "training" not in inspect.signature(layer.call).parameters:
        return False
    if any(getattr(layer, word, 0) for word in ("rate", "dropout", "recurrent_dropout")):
        return True
    if getattr(layer, "lora_enabled", False) or getattr(layer, "quantization_mode", None):
        return False  # its weights that are not trainable are frozen weights, not averages
    return bool(layer.trainable and layer.non_trainable_variables) and not hasattr(layer, "recurrent_dropout")


@dataclass(frozen=True)
class TrainingFacts:
    """Properties of a Keras model that its graph does not contain, with the current names of the graph.

    Args:
        effects: the effects of calls of layers.
        masked: tensors that have a mask.
        variables: variable -> the Keras variable.
        regularizers: variable -> its regularizer, if the Keras variable does not have it.
        renamed: op of the graph when it was opened -> its current name, if the names differ.
        kept_layers: ids of layers that a new model keeps, with their effects.
        training: whether the graph is that of training.

    Example:
        >>> TrainingFacts().added(None, (), (), None)
        ([], [])
    """

    effects: Sequence[LayerEffect] = ()
    masked: frozenset[str] = frozenset()
    variables: Mapping[str, Any] = field(default_factory=dict)
    regularizers: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    kept_layers: Container[int] = ()
    training: bool = False

    @cached_property
    def _names(self) -> dict[str, str]:
        return {self.renamed.get(name, name): name for name in self.variables}

    def added(
        self, base: Any, inputs: Iterable[str], outputs: Iterable[str], region: Any
    ) -> tuple[list[str], list[str]]:
        """Returns the losses that the layers of a region add, and notes about losses that cannot be computed in it.

        Args:
            base: the snapshot.
            inputs, outputs: the tensors at the boundary of the region.
            region: mask of its ops.
        """
        losses: list[str] = []
        notes: list[str] = []
        for effect in self._within(base, inputs, outputs, region):
            for loss in (self._now(one) for one in effect.losses):
                lack = self._lack(base, loss, inputs)
                if lack:
                    notes.append(f"{effect.layer.name!r} adds a loss that is not kept: {lack}")
                elif loss not in losses:
                    losses.append(loss)
        return losses, notes

    def notes(
        self, base: Graph, inputs: Iterable[str], outputs: Iterable[str], region: Mask, same_ops: bool
    ) -> list[str]:
        """Returns notes about masks, and about layers that behave differently in training.

        Args:
            base, inputs, outputs, region: as in `added`.
            same_ops: whether the region runs the same ops in training and in inference.
        """
        masked = {self._now(tensor) for tensor in self.masked}
        ends = [tensor for tensor in outputs if tensor in masked]
        notes = [f"the mask of {few(map(repr, ends))} ends here: later layers and losses do not get it"] * bool(ends)
        names = {one.layer.name: None for one in self._within(base, inputs, outputs, region) if one.differs}
        if same_ops and names:
            mode, other = (
                ("inference as in training", "") if self.training else ("training as in inference", ", training=True")
            )
            how = "call its keras_layer with this editor as" if self.training else "give that editor as"
            notes.append(
                f"computed in {mode}: {few(map(repr, names))}. To change this, apply the same plan to "
                f"gs.open(model{other}), and {how} training="
            )
        return notes

    def left_out(self, base: Graph, inputs: Iterable[str], outputs: Iterable[str]) -> list[str]:
        """Returns notes about properties of a part of the model that neither a function nor a file has.

        Args:
            base: the snapshot.
            inputs, outputs: the tensors at the boundary of the part; without outputs, the whole graph.
        """
        inputs, outputs = list(inputs), list(outputs)
        cuts = frozenset(map(base.tensor, inputs))
        goals = producers(base, map(base.tensor, outputs), cuts)
        region = backward(base, goals, cuts) if outputs else ~base.mask([])
        variables = [base.names[i] for i in np.flatnonzero(region).tolist() if base.types[i] in VARIABLE_TYPES]
        masked = {self._now(tensor) for tensor in self.masked}
        losing = [one.layer.name for one in self._within(base, inputs, outputs, region) if one.losses]
        omitted = {
            "losses": losing,
            **{f"{word}s": [name for name in variables if self._of_variable(name, word) is not None]
               for word in ("regularizer", "constraint")},
            "masks": [tensor for tensor in outputs if tensor in masked],
        }  # fmt: skip
        return [f"not included: the {word} of {few(map(repr, dict.fromkeys(names)))}"
                for word, names in omitted.items() if names]  # fmt: skip

    def _of_variable(self, name: str, word: str) -> Any:
        """Returns the regularizer or constraint of a variable; None if it has none."""
        was = self._names.get(name, "")
        thing = getattr(self.variables.get(was), word, None)
        return self.regularizers.get(was) if thing is None and word == "regularizer" else thing

    def weight_constraints(self, name: str, package: Any) -> tuple[dict[str, Any], list[str]]:
        """Returns the regularizer and the constraint of a variable as data, and notes if one cannot be stored.

        Args:
            name: the variable.
            package: the package of Keras.
        """
        about: dict[str, Any] = {}
        notes = []
        for word, module in (("regularizer", package.regularizers), ("constraint", package.constraints)):
            thing = self._of_variable(name, word)
            if thing is None:
                continue
            data = _serialize_object(thing, module)
            if data is None:
                kind = getattr(thing, "__name__", type(thing).__name__)
                lack = f"which Keras {package.__version__} cannot store in a file"
                notes.append(f"{name!r} loses its {word} {kind!r}, {lack}")
            else:
                about[word] = data
        return about, notes

    def _now(self, tensor: str) -> str:
        return rename_input(tensor, self.renamed)

    def _within(self, base: Graph, inputs: Iterable[str], outputs: Iterable[str], region: Mask) -> list[LayerEffect]:
        """Returns the effects of the calls in a region; a call without ops counts if its tensor is in the region."""
        ends = {*inputs, *outputs}
        effects = []
        for one in self.effects:
            if id(one.top) in self.kept_layers:
                continue
            ops = [base.index[op] for op in map(self._now, one.call.ops) if op in base.index]
            if ops and not one.losses:
                effects += [one] if region[ops].any() else []
                continue
            takes, gives = ([t for t in map(self._now, side) if op_name(t) in base.index]
                            for side in (one.call.inputs, one.call.outputs))  # fmt: skip
            cuts = frozenset(map(base.tensor, takes))
            own = base.mask(ops) & backward(base, producers(base, map(base.tensor, gives), cuts), cuts)
            if (region & own).any() or (not own.any() and any(t in ends or region[base.tensor(t)[0]] for t in gives)):
                effects.append(one)
        return effects

    def _lack(self, base: Graph, loss: str, inputs: Iterable[str]) -> str:
        """Returns why a loss cannot be computed from the inputs of a region; empty if it can."""
        if op_name(loss) not in base.index:
            return "its tensor is not in the graph"
        cuts = frozenset(map(base.tensor, inputs))
        needs = backward(base, producers(base, [base.tensor(loss)], cuts), cuts) & base.type_mask(FEED_TYPES)
        needs &= ~producers(base, cuts)
        return f"it needs {f'{base.names[int(needs.argmax())]}:0'!r}, which is not an input" if needs.any() else ""


def _serialize_object(obj: Any, module: Any) -> Any:
    """Returns a regularizer or constraint as data; None if Keras cannot restore it from the data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras warns about a lambda; a note reports it instead
            data = module.serialize(obj)
            again = module.get(data)
    except MemoryError:
        raise
    except Exception:  # user code may raise any error
        return None
    return data if isinstance(data, dict | str) and type(again) is type(obj) else None
