"""Models as people write them: opened, looked at, cut, copied, rewired, trained, saved, and loaded elsewhere.

Each chain starts at a model of `tests.models`. What must come out is what the model itself computes, and learns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.models import KINDS, Kind, arrays, step
from tests.needs import ROOT
from tests.tiers import share

pytestmark = pytest.mark.scaled

MOST_BOXES = 60

#: In a process of its own: what each file computes, and computes after a step of training. The second half of the cases
#: is loaded with graphsurgeon at hand.
FRESH = """
import json, sys
sys.path.insert(0, sys.argv[1])
sys.modules["graphsurgeon"] = None  # who asks for it is refused
import keras, numpy as np, tensorflow as tf
from tests.models import KINDS, arrays, step

held = []

def loaded(path):
    if path.endswith(".keras"):
        model = keras.models.load_model(path)
        return model, model.trainable_variables
    held.append(tf.saved_model.load(path))  # its variables are gone with it
    f = held[-1].signatures["serving_default"]
    names = sorted(f.structured_input_signature[1])
    def called(given):
        given = given if isinstance(given, dict) else {names[0]: given}
        return f(**dict(zip(names, (given[name] for name in sorted(given)), strict=True)))
    return called, [v for v in f.variables if v.trainable]

for name, path, with_layers in json.loads(sys.argv[2]):
    if with_layers and sys.modules["graphsurgeon"] is None:
        del sys.modules["graphsurgeon"]
        from graphsurgeon import GraphLayer
    given = KINDS[name].given()
    try:
        f, variables = loaded(path)
        found = [*arrays(f(given)), step(f, variables, given), *arrays(f(given))]
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    np.savez(path + ".npz", *found)
"""


class Chain:
    """One kind of model on its way: the model, its editor, and the files that are made of it."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        folder.mkdir()

    @cached_property
    def model(self) -> Any:
        """The model, as it was made."""
        return self.kind.make()

    @cached_property
    def ed(self) -> Any:
        """An editor of the model."""
        return gs.open(self.model)

    @cached_property
    def training(self) -> Any:
        """An editor of the model as it trains; a module does the same then."""
        return gs.open(self.model, training=True) if isinstance(self.model, keras.Model) else None

    @cached_property
    def want(self) -> list[np.ndarray]:
        """What the model computes."""
        return arrays(self.model(self.kind.given()))

    @cached_property
    def middle(self) -> str:
        """The tensor at which it is cut."""
        return self.ed.layer(self.kind.middle).outputs[0] if self.ed.layers else self.kind.middle

    @cached_property
    def halves(self) -> tuple[Any, Any]:
        """The ops before the cut and those behind it, which read inputs where a leak says so."""
        ed, ends = self.ed, [self.middle]
        first = ed.select(inputs=ed.inputs.values(), outputs=self.kind.middle)
        second = ed.select(inputs=ends, outputs=ed.outputs.values())
        while second.boundary.leaks:
            ends.append(f"{second.boundary.leaks[0].source}:0")
            second = ed.select(inputs=ends, outputs=ed.outputs.values())
        return first, second

    def near(self, got: Any, want: Any) -> None:
        """Asserts that arrays are equal, but for what another order of sums may change."""
        for one, two in zip(got, want, strict=True):
            np.testing.assert_allclose(one, two, rtol=self.kind.near, atol=self.kind.near)

    def feeds(self, ed: Any, scope: str = "") -> dict[str, Any]:
        """Returns what to feed to an editor; a file may call the arguments by their places."""
        by_name, by_place = self.kind.feeds, [self.kind.feeds[name] for name in sorted(self.kind.feeds)]
        found = [by_name.get(name, value) for name, value in zip(ed.inputs, by_place, strict=True)]
        return {scope + tensor: value for tensor, value in zip(ed.inputs.values(), found, strict=True)}

    def run(self, ed: Any) -> list[np.ndarray]:
        """Returns what the graph of an editor computes."""
        return ed.session().run(list(ed.outputs.values()), self.feeds(ed))


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: Chain(kind, folder / f"{i}") for i, (name, kind) in enumerate(KINDS.items())}


@pytest.fixture(params=share(list(KINDS), step=2))
def chain(request, chains):
    return chains[request.param]


def opened(chain):
    """Yields an editor for each form in which the model may come."""
    model, folder = chain.model, chain.folder
    yield "object", chain.ed
    if isinstance(model, keras.Model):
        model.save(folder / "model.keras")
        yield "file", gs.open(folder / "model.keras")
        model.export(folder / "exported", verbose=False)
        yield "exported", gs.open(folder / "exported")
    else:
        tf.saved_model.save(model, str(folder / "saved"))
        yield "saved", gs.open(folder / "saved")


def test_it_is_the_same_in_whatever_form_it_comes(chain):
    for form, ed in opened(chain):
        chain.near(chain.run(ed), chain.want)
        boxes = [box["label"] for box in ed.screen.traits()["scenes"]["source"]["boxes"]]
        assert 3 < len(boxes) <= MOST_BOXES, form
        assert not [label for label in boxes if "PartitionedCall" in label], form


def test_its_halves_copied_twice_and_joined_compute_what_it_computes(chain):
    ed, (first, second) = chain.ed, chain.halves
    into = gs.open(tf.Graph())
    plan = into.plan()
    for scope in ("one", "two"):
        plan = plan.copy(first, to=f"{scope}/first", values=ed, unmapped="placeholder")
        joined = {tensor: f"{scope}/first/{tensor}" for tensor in second.boundary.inputs}
        plan = plan.copy(second, to=f"{scope}/second", inputs=joined, values=ed, control="drop")
    assert plan.check() == ()
    into.apply(plan)
    session = into.session()
    for scope in ("one", "two"):
        ends = [f"{scope}/second/{tensor}" for tensor in ed.outputs.values()]
        chain.near(session.run(ends, chain.feeds(ed, f"{scope}/first/")), chain.want)


def test_rewired_it_computes_what_its_second_half_makes_of_another_middle(chain):
    ed, (_, second) = chain.ed, chain.halves
    part = gs.open(tf.Graph())
    part.apply(part.plan().copy(second, to="part", values=ed, unmapped="placeholder", control="drop"))
    whole = chain.feeds(ed)
    given = {f"part/{t}": whole[t] for t in second.boundary.inputs if t in whole}
    given[f"part/{chain.middle}"] = -ed.session().run(chain.middle, whole)
    want = part.session().run([f"part/{tensor}" for tensor in ed.outputs.values()], given)
    with rewired(chain):
        chain.near(chain.run(ed), want)
    chain.near(chain.run(ed), chain.want)
    assert any((one != other).any() for one, other in zip(want, chain.want, strict=True))


@contextmanager
def rewired(chain):
    """Turns the sign of the middle, for what is behind it, and takes that back."""
    chain.ed.apply(chain.ed.plan().insert("Neg", on=chain.middle, only=chain.halves[1], name="turned"))
    yield
    chain.ed.undo()


def named(variables):
    """Returns name -> value; the layer calls its weights as the model does, but with dots."""
    return {getattr(one, "path", one.name).partition(":")[0].replace("/", "."): one.numpy() for one in variables}


def test_a_layer_made_of_its_first_half_learns_as_that_does(chain):
    kind, layer = chain.kind, chain.ed.keras_layer(outputs=chain.kind.middle, training=chain.training)
    other = kind.make()
    half, before = kind.first_half(other), named(other.variables)
    losses = [
        step(f, [v for v in held if v.trainable], kind.given(), training=True)
        for f, held in ((layer, layer.variables), (half, other.variables))
    ]
    mine, want = {one.name: one.numpy() for one in layer.weights}, named(other.variables)
    chain.near(losses[:1], losses[1:])
    chain.near(mine.values(), [want[name] for name in mine])
    moved = {name for name in want if (want[name] != before[name]).any()}
    assert moved
    assert moved <= {*mine}
    chain.near(arrays(layer(kind.given())), arrays(half(kind.given())))


def taught(f, variables, given):
    """Returns what a function computes, what it costs, and what it computes after one step of training."""
    before, cost = arrays(f(given)), step(f, variables, given)
    return [*before, cost, *arrays(f(given))]


def written(chain):
    """Saves the model, rewired and as it is; returns file -> (whether it has a layer of ours, what it does)."""
    ed, folder = chain.ed, chain.folder
    with rewired(chain):
        assert not ed.save(folder / "rewired", format="saved_model_tf2").notes
        ed.keras_model().save(folder / "rewired.keras")
        f = ed.function()
        turned = taught(lambda x: f(**x) if isinstance(x, dict) else f(x), f.trainable_variables, chain.kind.given())
    again, other = ed.keras_model(), chain.kind.make()
    again.save(folder / "again.keras")
    as_it_is = taught(other, other.trainable_variables, chain.kind.given())
    assert bool(again.surgery.new_layers) == (chain.kind.part is not None)
    return {
        "rewired": (False, turned),
        "rewired.keras": (True, turned),
        "again.keras": (bool(again.surgery.new_layers), as_it_is),
    }


@pytest.fixture(scope="module")
def fresh(chains):
    """What the files of all models compute where they are loaded by plain TensorFlow, and what they should."""
    want = {(name, file): about for name, chain in chains.items() for file, about in written(chain).items()}
    cases = sorted(((name, str(chains[name].folder / file), ours) for (name, file), (ours, _) in want.items()),
                   key=lambda case: case[2])  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(ROOT), json.dumps(cases)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return want


@pytest.mark.deep
@pytest.mark.parametrize("file", ["rewired", "rewired.keras", "again.keras"])
def test_in_a_fresh_process_it_computes_and_learns_the_same(chain, fresh, file, request):
    _, want = fresh[request.node.callspec.params["chain"], file]
    with np.load(chain.folder / f"{file}.npz") as found:
        assert found["arr_0"].dtype.kind != "U", found["arr_0"]
        chain.near(found.values(), want)
