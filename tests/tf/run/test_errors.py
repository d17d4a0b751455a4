"""Words: what TensorFlow says of an error reaches the reader whole, and without its stacks."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from graphsurgeon.tf.run.errors import error_text, errors_as, out_of_memory, suggested_fix
from tests.graphs import model, tf1
from tests.refusal import refuses

SEVERAL = """Graph execution error:

Detected at node 'save/RestoreV2' defined at (most recent call last):
    File "a.py", line 3, in <module>
      saver = tf.train.Saver()
Node: 'save/RestoreV2'
2 root error(s) found.
  (0) NOT_FOUND: Key w not found in checkpoint
\t [[{{node save/RestoreV2}}]]
\t [[save/RestoreV2/_3]]
  (1) NOT_FOUND: Key w not found in checkpoint
\t [[{{node save/RestoreV2}}]]
0 successful operations.
0 derived errors ignored.

Original stack trace for 'save/RestoreV2':
  File "a.py", line 3, in <module>
    saver = tf.train.Saver()
"""
PYTHON = """ValueError: no such thing
Traceback (most recent call last):

  File "b.py", line 1, in __call__
    ret = func(*args)

ValueError: no such thing


\t [[{{node PyFunc}}]]"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Graph execution error:\n\nNode: 'y'\nthe cause\n\t [[{{node y}}]]", "the cause"),
        (SEVERAL, "Key w not found in checkpoint"),
        (PYTHON, "ValueError: no such thing"),
        ("Dimensions must be equal for '{{node y}} = MatMul[T=DT_FLOAT](a, b)'.", None),
        ("two lines\nof one cause", "two lines of one cause"),
        ("", "ValueError"),
        ("Graph execution error:", "ValueError"),
    ],
    ids=["one", "several", "python", "no stack", "lines", "nothing", "a heading alone"],
)
def test_all_words_and_nothing_else(text, words):
    assert error_text(ValueError(text)) == (text if words is None else words)


def failing(make: Any, feeds: Any = None) -> BaseException:
    """Returns what a session raises for a graph."""
    with tf.Graph().as_default() as graph:
        end = make()
    with pytest.raises(tf.errors.OpError) as caught, tf1.Session(graph=graph) as session:
        session.run(end, feeds)
    return caught.value


def test_each_kind_has_a_remedy_of_its_own(tmp_path):
    missing = failing(lambda: tf.io.read_file(str(tmp_path / "none.txt")))
    problem, suggestion = suggested_fix(missing)
    assert problem == f"the file {str(tmp_path / 'none.txt')!r} is not there"
    assert suggestion.startswith("Put the file there")
    fed = failing(lambda: tf.identity(tf1.placeholder(tf.float32, name="given")))
    problem, suggestion = suggested_fix(fed)
    assert problem == "the run needs a value for the placeholder 'given'"
    assert "a value for 'given:0'" in suggestion
    kernel = failing(lambda: tf.raw_ops.NcclAllReduce(
        input=tf.ones([2]), reduction="sum", num_devices=1, shared_name=""
    ))  # fmt: skip
    problem, suggestion = suggested_fix(kernel)
    assert problem.startswith("this TensorFlow has no kernel for the op type 'NcclAllReduce': ")
    assert "ed.select(op='NcclAllReduce')" in suggestion
    assert suggested_fix(failing(lambda: tf.debugging.Assert(False, ["no"]))) is None


def test_a_checkpoint_that_does_not_restore_says_why(tmp_path):
    m = model("resource")
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    with tf.Graph().as_default() as other:
        w = tf1.get_variable("other", [2])
        wrong = tf1.train.Saver([w])
        tf1.train.export_meta_graph(str(tmp_path / "model.meta"), graph=other, saver_def=wrong.as_saver_def())
    with refuses(OpenError, "the checkpoint does not restore: Key other not found in checkpoint",
                 "Give the checkpoint of the same graph"):  # fmt: skip
        gs.open(tmp_path / "model.meta").session()


def test_a_session_that_cannot_start_says_which_of_three_things_is_missing(tmp_path):
    def session(make: Any) -> Any:
        with tf.Graph().as_default() as graph:
            make()
        source, into = gs.open(graph), gs.open(tf.Graph())
        into.apply(into.plan().copy(source.select(), to="c", variables="initial"))
        return into.session()

    path = str(tmp_path / "none.txt")

    def from_file() -> Any:
        return tf1.get_variable("w", initializer=tf.strings.length(tf.io.read_file(path)))

    def without_kernel() -> Any:
        value = tf.raw_ops.NcclAllReduce(input=tf.ones([2]), reduction="sum", num_devices=1, shared_name="")
        return tf1.get_variable("w", initializer=value)

    with refuses(PlanError, "session(", f"the file {path!r} is not there", "Put the file there"):
        session(from_file)
    with refuses(PlanError, "session(", "no kernel for the op type 'NcclAllReduce'", "Run it on a device that has one"):
        session(without_kernel)


def test_a_refusal_has_our_words_and_those_of_tensorflow_behind():
    refused = refuses(PlanError, "save('x'): TensorFlow does not write it: the disk is full", "Choose another path")
    with refused, errors_as(PlanError, "save('x')", "TensorFlow does not write it", "Choose another path"):
        raise OSError("the disk is full")


def test_an_error_of_another_kind_goes_on_as_it_is():
    with pytest.raises(KeyError), errors_as(PlanError, "asked", "wrong", "instead", OSError, ValueError):
        raise KeyError("x")


def test_what_there_is_no_memory_for_is_told_with_its_size():
    said = "there is not enough memory: the arena is full. Feed less data, or set trace(memory=...)"
    assert out_of_memory(MemoryError("the arena is full")) == said
    for kind, size in (
        ("double", "512 bytes"),
        ("half", "128 bytes"),
        ("int8", "64 bytes"),
        ("bool", "64 bytes"),
        ("float", "256 bytes"),
    ):
        said = out_of_memory(MemoryError(f"OOM when allocating tensor with shape[8,8] and type {kind} on cpu"))
        assert said.startswith(f"there is no memory for {size} more: a tensor of {kind} (8, 8).")
