"""Each op type of TensorFlow's own list that might reach out of a graph is known: as risky, or reviewed as harmless."""

from __future__ import annotations

import re

import pytest

from graphsurgeon.graph.security import KINDS, RISKY, SAVERS
from tests.needs import ROOT

#: Names of inputs and attributes that may name something outside of the graph.
OUTSIDE = re.compile(
    r"file|path|url|uri|address|descriptor|(^|_)dir(s|$|_)|logdir|pattern|host|server|prefix|token|"
    r"target_name|graph|module|program|serialized|output_stream|data_source|exit_without"
)


@pytest.fixture(scope="module")
def definitions():
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    listed = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return {one.name: one for one in listed.op}


def reviewed() -> list[str]:
    lines = (ROOT / "tests" / "tf" / "harmless_ops.txt").read_text().splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def test_no_op_type_slips_through(definitions):
    known = {*RISKY, *reviewed()}
    suspect = {
        one.name
        for one in definitions.values()
        if one.is_stateful or any(OUTSIDE.search(part.name) for part in (*one.input_arg, *one.attr))
    }
    left = sorted(suspect - known)
    assert not left, f"put {left} into RISKY, or, with the reason, into tests/tf/harmless_ops.txt"
    assert len(suspect) > 500


def test_nothing_is_reviewed_twice():
    names = reviewed()
    assert len(names) == len(set(names))
    assert not set(names) & set(RISKY)


def test_a_reason_stands_above_each_group():
    text = (ROOT / "tests" / "tf" / "harmless_ops.txt").read_text()
    groups = text.split("\n\n")[1:]
    assert groups
    assert all(re.match(r"# .+\n\w", group) for group in groups)


def test_the_path_stands_where_the_table_says(definitions):
    word = re.compile(r"file|path|url|uri|address|descriptor|dir|pattern|prefix|token|target_name|stream|source|scheme")
    for name, known in RISKY.items():
        one = definitions.get(name)
        if one is None or known.path is None:
            continue  # another version of TensorFlow has it
        if isinstance(known.path, str):
            assert known.path in [attr.name for attr in one.attr], name
        else:
            assert word.search(one.input_arg[known.path].name), (name, one.input_arg[known.path].name)
            assert not any(arg.number_attr or arg.type_list_attr for arg in one.input_arg[: known.path]), name


def test_the_table_itself():
    assert all(known.kind in KINDS and known.reason for known in RISKY.values())
    assert set(RISKY) > SAVERS
