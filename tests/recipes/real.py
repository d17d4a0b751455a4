"""Recipes on real graphs: each where it applies, and what it claims."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import few
from graphsurgeon.graph.boundary import entering_tensors
from graphsurgeon.graph.names import rename_input
from graphsurgeon.graph.traversal import backward
from graphsurgeon.graph.variables import PLACEHOLDER_TYPES
from graphsurgeon.recipes.signature import rows
from graphsurgeon.tf.values.transfer import assign
from tests.tf.test_corpus import middles, opened, settled, trains

#: The values of the last item that has no checkpoint: they can be gigabytes, and take long to make.
_VALUES: dict[str, Any] = {}


def asked(corpus: Any, id: str) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Returns of an item its editor, its values, and what is fed and fetched in its golden."""
    if id not in _VALUES:
        _VALUES.clear()
    ed, values = opened(corpus, id, _VALUES.get(id))
    if isinstance(values, dict):
        _VALUES[id] = values
    if corpus.item(id)["run"].get("clear_devices"):
        ed.apply(ed.plan().set_device(ed.select(), ""))
    return ed, values, *corpus.golden(id)


def filled(corpus: Any, id: str) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Returns the same, with the values in the editor's session where they are arrays."""
    found = ed, values, *_ = asked(corpus, id)
    if isinstance(values, dict):
        assign(settled(ed), values, ed.snapshot.state.variables)
    return found


def agree(corpus: Any, id: str, ed: Any, feeds: dict[str, Any], fetches: Any) -> None:
    """Asserts that a graph gives the recorded numbers under their current names."""
    session = settled(ed)
    session.run(ed.select(where=lambda op: op.type.startswith(("InitializeTable", "LookupTableImport"))).names)
    corpus.compare(id, dict(zip(fetches, session.run(list(fetches), feeds), strict=True)))


def reaching(graph: Any, feeds: Any, fetches: Any) -> list[str]:
    """Returns which of the tensors that are fed are read on the way to what is fetched."""
    last = graph.mask([graph.tensor(name)[0] for name in fetches])
    needed = backward(graph, last, frozenset(map(graph.tensor, feeds)))
    return [name for name in feeds if any(needed[op] for op, _ in graph.consumers_of(graph.tensor(name)))]


def inference(corpus: Any, id: str) -> str:
    """Asserts that the inference form of a graph gives its numbers, and says how much smaller it is."""
    ed, values, feeds, fetches = asked(corpus, id)
    before = ed.snapshot.size
    if learning(ed, fetches):
        return settles(corpus, id)
    if ed.snapshot.state.variables:
        ed = gs.recipes.frozen(ed, list(fetches), list(feeds), values="initial" if values is ed else values)
    made = {name: re.sub(r":([1-9]\d*)$", r"_\1:0", name) for name in feeds}  # as `frozen` says
    feeds = {now if now.partition(":")[0] in ed.snapshot.index else name: feeds[name] for name, now in made.items()}
    feeds = {name: value for name, value in feeds.items() if name.partition(":")[0] in ed.snapshot.index}
    infer(ed, list(fetches), list(feeds))
    agree(corpus, id, ed, feeds, fetches)
    return f"{before:,} to {ed.snapshot.size:,} ops"


def infer(ed: Any, outputs: list[str], inputs: list[str]) -> None:
    """Brings a graph into inference form, where it is not in it already."""
    try:
        plan = gs.recipes.for_inference(ed, outputs, inputs)
    except gs.PlanError as error:
        if error.problem != "it is in inference form already":
            raise
    else:
        ed.apply(plan)


def learning(ed: Any, fetches: Any) -> list[str]:
    """Returns the ops on the way to what is fetched that read the statistics of the batch."""
    above = ed.select(name=[name.partition(":")[0] for name in fetches]).ancestors()
    norms = above.where(lambda op: op.type.startswith("FusedBatchNorm"))
    return [name for name in norms.names if ed.graph.get_operation_by_name(name).get_attr("is_training")]


def aside(plain: Any, ed: Any, feeds: dict[str, Any], fetches: Any) -> list[Any]:
    """Returns what TensorFlow's own importer gives for a GraphDef, where variables hold what those of an editor do."""
    reads = [f"{name}/read:0" for name in ed.snapshot.state.variables if f"{name}/read" in ed.snapshot.index]
    held = dict(zip(reads, settled(ed).run(reads), strict=True))
    for node in plain.node:
        node.device = ""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(plain, name="")
        got: list[Any] = session.run(list(fetches), {**held, **feeds})
    return got


def resting(ed: Any, norms: list[str]) -> Any:
    """Returns a GraphDef in which ops that look at the batch read what training has kept, as slim names it."""
    plain = ed.graph.as_graph_def()
    for node in plain.node:
        if node.name in norms:
            own = node.input[2].rpartition("/beta/")[0]  # towers share their variables
            node.attr["is_training"].b = False
            node.input[3:5] = [f"{own}/moving_mean/read", f"{own}/moving_variance/read"]
    return plain


def averages_read(corpus: Any, id: str) -> str:
    """Asserts that batch normalization that reads its averages, and nothing else changed, gives what TensorFlow's own
    importer gives where each reads the variables of these names; says how many did not before.
    """
    ed, _, feeds, fetches = filled(corpus, id)
    norms = learning(ed, fetches)
    if not norms:
        return "none"
    given = {name: feeds[name] for name in reaching(ed.snapshot, feeds, fetches)}
    inner = [f"{norms[0]}:0", *fetches]
    wanted = aside(resting(ed, norms), ed, given, inner)
    batch, size = settled(ed).run(inner[0], given), len(ed)
    ed.apply(gs.recipes.settle_batch_norm(ed))
    assert not learning(ed, fetches)
    assert len(ed.select(where=lambda op: op.type.startswith("FusedBatchNorm"))) >= len(norms)
    for got, want in zip(settled(ed).run(inner, given), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4, err_msg=id)
    assert not np.allclose(wanted[0], batch, rtol=1e-2), id
    ed.undo()
    assert len(ed) == size
    return f"{len(norms)}"


def settles(corpus: Any, id: str) -> str:
    """Asserts that a training graph in inference form reads what training has kept, as slim names it.

    Its recorded numbers are those of the batch. What it gives is compared with TensorFlow's own importer, where each op
    that looks at the batch reads the variables of these names; how many ops are left, and how many of them read these.
    Ranges are such that a network of a few steps, whose results are small, gives other numbers than zero.
    """
    ed, _, feeds, fetches = filled(corpus, id)
    graph, norms = ed.snapshot, learning(ed, fetches)
    ends = {"weights_quant/min": -0.1, "weights_quant/max": 0.1, "act_quant/min": 0.0, "act_quant/max": 0.1}
    ranges = {
        name: np.float32(value) for name in graph.state.variables for end, value in ends.items() if name.endswith(end)
    }
    assign(settled(ed), ranges, graph.state.variables)
    plain, count = resting(ed, norms), 0
    for node in plain.node:
        scope = node.name.rpartition("/")[0]
        if node.op == "FakeQuantWithMinMaxVars":
            count += 1
            node.input[1:3] = [f"{scope}/min/read", f"{scope}/max/read"]
    given = {name: feeds[name] for name in reaching(graph, feeds, fetches)}
    wanted = aside(plain, ed, given, fetches)
    ed.apply(gs.recipes.for_inference(ed, list(fetches), list(given)))
    ed = gs.recipes.frozen(ed, list(fetches), list(given), values="initial")
    infer(ed, list(fetches), list(given))
    for got, want in zip(settled(ed).run(list(fetches), given), wanted, strict=True):
        assert np.any(want), id
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4, err_msg=id)
    return f"{graph.size:,} to {ed.snapshot.size:,} ops, {len(norms) + count} that looked at the batch"


def parts(corpus: Any, id: str) -> str:
    """Asserts that each part of training, taken out by itself, leaves the numbers; says how many ops each was."""
    ed, _, feeds, fetches = filled(corpus, id)
    known, said = list(fetches), []
    recipes = gs.recipes
    for word, recipe in {
        "training": lambda: recipes.strip_training(ed, known), "dropout": lambda: recipes.strip_dropout(ed),
        "checks": lambda: recipes.strip_checks(ed), "identities": lambda: recipes.strip_identities(ed, known),
        "batch norm": lambda: recipes.fold_batch_norm(ed, known),
    }.items():  # fmt: skip
        try:
            plan = recipe()
        except gs.PlanError as error:
            said += [f"{word} refused: {error.problem}"] if "gradient" in error.problem else []
            continue
        size = len(ed)
        ed.apply(plan)
        there = ed.snapshot.index
        left = [name for name in known if name.partition(":")[0] in there]
        agree(corpus, id, ed, {name: one for name, one in feeds.items() if name.partition(":")[0] in there}, left)
        said.append(f"{word} {size - len(ed)}")
        ed.undo()
        assert len(ed) == size
    return ", ".join(said) or "none"


def split(corpus: Any, id: str) -> str:
    """Asserts that two halves of a graph, one after the other, give its numbers, and says where it is cut."""
    ed, _, feeds, fetches = filled(corpus, id)
    graph = ed.snapshot
    for at, out in middles(ed, feeds, fetches, begin=False):
        fed = [name for name in feeds if graph.types[graph.tensor(name)[0]] not in PLACEHOLDER_TYPES]
        cuts = [at]
        for _ in range(5):  # a refusal says where to split too
            try:
                halves = gs.recipes.split_at(ed, cuts, out, fed, feeds=feeds)
            except gs.PlanError as error:
                if "Split there too" not in error.suggestion:
                    break  # through a loop, or between the writes and reads of an array
                cuts = ast.literal_eval(error.suggestion.partition("at=")[2])
                continue
            first, second = halves
            given = {name.removesuffix(":0").replace("/", "_").replace(":", "_"): a for name, a in feeds.items()}
            between = settled(first).run(dict(first.outputs), {e: given[key] for key, e in first.inputs.items()})
            known = {end: (given | between)[key] for key, end in second.inputs.items()}
            (got,) = settled(second).run(list(second.outputs.values()), known)
            corpus.compare(id, {**fetches, out: got})
            return f"at {few(cuts, 2)}"
    return "nothing to split"


def rounds(op: Any) -> bool:
    """Whether an op stands in for quantization; the gradients of such ops do not."""
    return op.type.startswith(("FakeQuant", "QuantizeAndDequantize")) and not op.type.endswith(("Grad", "Gradient"))


def quantization(corpus: Any, id: str) -> str:
    """Asserts that what is put after each convolution and product, and taken out again, leaves the numbers; or, of a
    graph that has its own, that without these it gives what TensorFlow gives with an identity in the place of each.
    """
    ed, _, feeds, fetches = filled(corpus, id)
    size, held = len(ed), ed.select(where=rounds)
    if held:
        plain = ed.graph.as_graph_def()
        for node in (node for node in plain.node if node.name in held):
            node.op, kept = "Identity", node.input[0]
            node.ClearField("input")
            node.ClearField("attr")
            node.input.append(kept)
            node.attr["T"].type = tf.float32.as_datatype_enum
        wanted = aside(plain, ed, feeds, fetches)
        ed.apply(gs.recipes.strip_quantization(ed))
        assert not ed.select(where=rounds)
        for got, want in zip(settled(ed).run(list(fetches), feeds), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4, err_msg=id)
        return f"its own {len(held)}, {size - len(ed)} ops fewer"
    ends = [name.partition(":")[0] for name in fetches]
    kinds = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
    found = ed.select(where=lambda op: op.type in kinds and op.outputs[0].dtype == "float32" and op.name not in ends)
    found = found.where(lambda op: bool(op.graph.consumers_of((op.number, 0))))
    if not found:
        return "none"
    ed.apply(gs.recipes.insert_after(ed, found, "FakeQuantWithMinMaxArgs", name="round"))
    assert len(ed) == size + len(found)
    ed.apply(gs.recipes.strip_quantization(ed))
    assert len(ed) == size
    agree(corpus, id, ed, feeds, fetches)
    return f"after {len(found)}"


def signature(corpus: Any, id: str) -> str:
    """Asserts that a graph with an output more, saved as a SavedModel, gives its numbers in plain TensorFlow."""
    ed, _, feeds, fetches = filled(corpus, id)
    inner = next(iter(middles(ed, feeds, fetches, begin=False)), None)
    if inner is None:
        return "nothing within"
    ed.apply(gs.recipes.add_output(ed, inner[0], "taken_out"))
    wanted = {f"r{i}": name for i, name in enumerate(fetches)}
    graph = ed.snapshot
    read = reaching(graph, feeds, (*fetches, "taken_out:0"))
    ends = {f"a{i}": name for i, name in enumerate(read)}
    model = gs.recipes.set_signature(ed, {**wanted, "more": "taken_out:0"}, ends)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model", values="initial", verify=False)
        served = tf.saved_model.load(f"{folder}/model").signatures["serving_default"]
        got = served(**{key: tf.constant(feeds[name]) for key, name in ends.items()})
    corpus.compare(id, {name: got[key].numpy() for key, name in wanted.items()})
    assert got["more"].dtype.name == graph.info(*graph.tensor(inner[0])).dtype
    return f"{inner[0]} of {len(model)} ops"


def cut_off(corpus: Any, id: str) -> str:
    """Asserts that a graph without what comes before or after the model gives its numbers, and says where it is cut."""
    ed, _, feeds, fetches = filled(corpus, id)
    said = []
    for recipe in (gs.recipes.cut_preprocessing, gs.recipes.cut_postprocessing, gs.recipes.cut_nms):
        try:
            plan = recipe(ed)
        except gs.PlanError:
            continue
        graph, after = ed.snapshot, plan.after()
        made = [n for n, kind in zip(after.names, after.types, strict=True) if kind in PLACEHOLDER_TYPES]
        made = [n for n in made if n not in graph.index or graph.types[graph.index[n]] not in PLACEHOLDER_TYPES]
        there = {f"{n}:0": re.sub(r"_(\d+)_detached$", r":\1", n) if n not in graph.index else f"{n}:0" for n in made}
        gone = graph.mask(op for op in range(graph.size) if graph.names[op] not in after.index)
        ends = [
            graph.name(one)
            for one in entering_tensors(graph, gone)
            if graph.info(*one).dtype not in ("resource", "variant")
        ]
        edges = list(there.values()) if made else ends
        above = backward(graph, graph.mask(graph.tensor(one)[0] for one in edges), frozenset(map(graph.tensor, feeds)))
        open_ends = above & graph.type_mask(PLACEHOLDER_TYPES)
        if open_ends[[op for op in range(graph.size) if f"{graph.names[op]}:0" not in feeds]].any():
            said.append(f"{recipe.__name__.removeprefix('cut_')} above what the numbers are for")
            continue
        held = dict(zip(edges, settled(ed).run(edges, feeds), strict=True))
        ed.apply(plan)
        known = {name: value for name, value in feeds.items() if name.partition(":")[0] in after.index}
        if made:  # before: what is left gives the recorded numbers, fed what was cut off
            known |= {name: held[old] for name, old in there.items()}
            left = [name for name in fetches if (op := name.partition(":")[0]) in after.index and op not in made]
            agree(corpus, id, ed, known, left)
        else:  # behind: what is left gives what was read there, and from that come the recorded numbers
            for name, got in zip(ends, settled(ed).run(ends, known), strict=True):
                if got.dtype.kind == "f":  # another end, other fusions: the last bits differ
                    np.testing.assert_allclose(got, held[name], rtol=1e-4, atol=1e-5, err_msg=f"{id}: {name}")
                else:
                    np.testing.assert_array_equal(got, held[name], err_msg=f"{id}: {name}")
        ed.undo()
        if not made:
            agree(corpus, id, ed, feeds | held, fetches)
        said.append(f"{recipe.__name__.removeprefix('cut_')} at {few(edges, 2)}")
    return ", ".join(said) or "neither"


def another_batch(corpus: Any, id: str) -> str:
    """Asserts that a graph takes another batch and still gives its numbers, or says which op is in the way."""
    ed, _, feeds, fetches = filled(corpus, id)
    graph = ed.snapshot
    wishes = {}
    for name, array in feeds.items():
        info = graph.info(*graph.tensor(name))
        known = info is not None and info.shape and graph.types[graph.tensor(name)[0]] in PLACEHOLDER_TYPES
        if known and info.shape[0] in (1, None) and array.shape[0]:
            wishes[name] = [None if info.shape[0] else int(array.shape[0]), *info.shape[1:]]
    if not wishes:
        return "no batch"
    try:
        plan = gs.recipes.set_input(ed, wishes, outputs=list(fetches), feeds=feeds)
    except gs.PlanError as error:
        if "the verification cannot run" in error.problem:
            raise
        return f"refused: {error.problem[:120]}"
    ed.apply(plan)
    agree(corpus, id, ed, feeds, fetches)
    return ", ".join(f"{name} {shape}" for name, shape in wishes.items())


def trained_less_memory(corpus: Any, id: str) -> str:
    """Asserts that a training graph that computes activations again takes the recorded path; how many ops that are."""
    feeds, losses = corpus.golden(id, training=True)
    ed, *_ = filled(corpus, id)
    try:
        plan = gs.recipes.recompute(ed, list(losses))
    except gs.PlanError as error:
        return f"refused: {error.problem}"
    before = ed.snapshot.size
    ed.apply(plan)
    session, step = settled(ed), corpus.item(id)["golden_train"]["train_op"]
    path = []
    for number in range(4):
        path.append(session.run(list(losses), feeds))
        if number < 3:
            session.run(step, feeds)
    for got, want in zip(zip(*path, strict=True), losses.values(), strict=True):
        np.testing.assert_allclose(np.stack(got), want, rtol=2e-3, atol=2e-3, err_msg=id)
    return f"{ed.snapshot.size - before} ops again"


def renamed(corpus: Any, id: str) -> str:
    """Asserts that a graph gives its numbers under other names of its ends, scopes and variables; how many."""
    ed, _, feeds, fetches = filled(corpus, id)
    names = {old: f"moved/{old}" for old in rows(ed)}
    done = ed.apply(gs.recipes.rename(ed, names))
    now = {name: rename_input(name, done.plan.effect.renamed) for name in (*feeds, *fetches)}
    got = settled(ed).run([now[name] for name in fetches], {now[name]: value for name, value in feeds.items()})
    corpus.compare(id, dict(zip(fetches, got, strict=True)))
    return f"{len(names)} names, {len(done.plan.effect.renamed):,} ops"


def merged(corpus: Any, id: str) -> str:
    """Asserts that a model beside itself, on the same inputs, gives its numbers twice; how many ops that are."""
    ed, _, feeds, fetches = filled(corpus, id)
    graph = ed.snapshot
    read = reaching(graph, feeds, fetches)
    ends = {f"a{i}": name for i, name in enumerate(read)}
    model = gs.recipes.set_signature(ed, {f"r{i}": name for i, name in enumerate(fetches)}, ends)
    whole = gs.recipes.merge(model, model, "shared" if read else "beside", values="initial")
    assert list(whole.inputs) == list(ends)
    session = settled(whole)
    session.run(whole.select(where=lambda op: op.type.startswith(("InitializeTable", "LookupTableImport"))).names)
    got = session.run(whole.outputs, {whole.inputs[key]: feeds[name] for key, name in ends.items()})
    for name in ("first", "second"):
        corpus.compare(id, {fetch: got[f"{name}_r{i}"] for i, fetch in enumerate(fetches)})
    return f"{len(whole)} ops"


def checkpoint_renamed(corpus: Any, id: str) -> str:
    """Asserts that a checkpoint under other names holds the same values to the last bit; how many these are."""
    prefix = corpus.checkpoint(id)
    if prefix is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        written = gs.recipes.rename_checkpoint(str(prefix), f"{folder}/new", {"*": "moved/*"})
        old, new = tf.train.load_checkpoint(str(prefix)), tf.train.load_checkpoint(f"{folder}/new")
        assert set(new.get_variable_to_shape_map()) == set(written)
        for name, was in written.items():
            np.testing.assert_array_equal(new.get_tensor(name), old.get_tensor(was), err_msg=f"{id}: {name}")
    return f"{len(written)} values"


def averages(corpus: Any, id: str) -> str:
    """Asserts that averages that TensorFlow keeps while a graph trains are read in the graph, and from a checkpoint.

    No graph of the corpus brings its own. Both ways give what the variables give that hold the averages, and that is
    not what they gave themselves. Says how many averages there are.
    """
    ed, _, feeds, fetches = filled(corpus, id)
    given, step = corpus.golden(id, training=True)[0], corpus.item(id)["golden_train"]["train_op"]
    session, own = settled(ed), ed.graph.get_collection("trainable_variables")
    if not own:
        return "no variable in a collection"
    with ed.graph.as_default():
        keep = tf.train.ExponentialMovingAverage(0.5)
        follow = keep.apply(own)
        session.run([keep.average(variable).initializer for variable in own])
    for _ in range(2):
        session.run(step, given)
        session.run(follow)
    raw, mean = session.run(list(fetches), feeds), {one.op.name: session.run(keep.average(one)) for one in own}
    with tempfile.TemporaryDirectory() as folder:
        ed.save(f"{folder}/model.ckpt")
        plain, *_ = asked(corpus, id)
        gs.recipes.restore_averages(plain, f"{folder}/model.ckpt")
        restored = settled(plain).run(list(fetches), feeds)
    ed.apply(gs.recipes.use_averages(ed, list(fetches)))
    read = settled(ed).run(list(fetches), feeds)
    ed.undo()
    assign(settled(ed), mean, ed.snapshot.state.variables)
    wanted = settled(ed).run(list(fetches), feeds)
    for got in (read, restored):
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=id)
    assert any(not np.allclose(one, other, rtol=1e-3) for one, other in zip(raw, wanted, strict=True)), id
    return f"{len(own)} averages"


def tflite(corpus: Any, id: str) -> str:
    """Asserts that a graph in which the converter finds nothing in the way is a model that gives its numbers."""
    ed, _, feeds, fetches = filled(corpus, id)
    feeds = {name: feeds[name] for name in reaching(ed.snapshot, feeds, fetches)}
    found = ed.check("tflite", list(fetches), list(feeds), verify=True, feeds=feeds)
    assert bool(found.proof) == found.passed
    return str(found).partition("\n")[0].partition(": ")[2]


def tfjs(corpus: Any, id: str) -> str:
    """Asserts that a graph in which the list of TF.js has all is converted, and that else the converter refuses it for
    the same types of ops; where it is installed.
    """
    if importlib.util.find_spec("tensorflowjs") is None:
        return "tensorflowjs is not installed"
    ed, _, feeds, fetches = filled(corpus, id)
    inputs = reaching(ed.snapshot, feeds, fetches)
    found = ed.check("tfjs", list(fetches), inputs, verify=True)
    assert bool(found.proof) == found.passed, str(found)
    if {one.kind for one in found} == {"missing"}:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/frozen.pb"
            ed.save(path, outputs=list(fetches), inputs=inputs, freeze=True, values="initial", verify=False)
            ends = ",".join(name.removesuffix(":0") for name in fetches)
            options = ["--input_format=tf_frozen_model", f"--output_node_names={ends}", path, f"{folder}/made"]
            command = [sys.executable, "-m", "tensorflowjs.converters.converter", *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = re.search(r"Unsupported Ops in the model before optimization\n(.*)", done.stderr)
        assert said is not None, done.stderr[-2000:]
        assert set(said[1].split(", ")) == {one.type for one in found}
    return str(found).partition("\n")[0].partition(": ")[2]


#: Their tables are filled from a checkpoint, which a frozen graph has not.
FILLED_BY_CHECKPOINT = {"k_text_vectorization"}

#: A gradient that the library of functions names is lost in `tf.saved_model.load`; a session has it.
LOST_BY_LOADER = {"tf_g2m_graph_gradient_def"}

RECIPES: dict[str, Callable[[Any, str], str]] = {
    "inference": inference, "parts": parts, "averages read": averages_read,
    "split": split, "quantization": quantization, "signature": signature,
    "batch": another_batch, "recompute": trained_less_memory, "cut off": cut_off,
    "renamed": renamed, "merged": merged, "checkpoint": checkpoint_renamed, "averages": averages, "TFLite": tflite,
    "TF.js": tfjs,
}  # fmt: skip

#: Which graphs each is for, by what the manifest says of them.
APPLIES: dict[str, Callable[[Any], bool]] = {
    "inference": lambda item: item["id"] not in FILLED_BY_CHECKPOINT,
    "signature": lambda item: item["id"] not in LOST_BY_LOADER,
    "recompute": trains,
    "averages": trains,
    "checkpoint": lambda item: bool(item["run"].get("checkpoint")),
}
