"""Calls of the graph editor whose results are known from TF 1.15: recorded there, made here again.

Recorded with `PYTHON_WITH_TF115 tests/graph_editor/calls.py > tests/graph_editor/tf115.json`; runs on Python 3.7 too.
"""

import inspect
import json
import random
import sys

import tensorflow as tf

tf1 = tf.compat.v1


def names(things):
    """Names of ops or tensors in order."""
    return [thing.name for thing in things]


def edges(graph):
    """All that a graph computes with: op -> names of inputs and control inputs."""
    return {op.name: [names(op.inputs), sorted(names(op.control_inputs))] for op in graph.get_operations() if op.inputs}


def view(sgv):
    """What a view shows."""
    return [names(sgv.ops), names(sgv.inputs), names(sgv.outputs), names(sgv.passthroughs)]


def small():
    """The graph: a, b -> foo/c, foo/d, foo/e -> f, g, with a control edge."""
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        b = tf1.placeholder(tf.float32, [2], name="b")
        with tf1.name_scope("foo"):
            c = tf.add(a, b, name="c")
            with tf1.control_dependencies([c.op]):
                d = tf.multiply(c, a, name="d")
            with tf1.name_scope("bar"):
                e = tf.add(d, b, name="e")
        f = tf.add(e, c, name="f")
        tf.multiply(f, d, name="g")
    return graph


def chance(seed, size=14, waiting=True):
    """A graph of some ops that read by chance what is there, and wait for some of it."""
    rng, graph = random.Random(seed), tf.Graph()
    with graph.as_default():
        ts = [tf1.placeholder(tf.float32, [2], name=f"in_{i}") for i in range(3)]
        for i in range(size):
            waits = [ts[rng.randrange(len(ts))].op] if rng.randrange(4) == 0 and waiting else []
            with tf1.control_dependencies(waits), tf1.name_scope(f"s{rng.randrange(3)}"):
                one, other = ts[rng.randrange(len(ts))], ts[rng.randrange(len(ts))]
                ts.append(tf.multiply(one, other, name=f"op_{i}"))
    return graph


def some_ops(rng, graph):
    """Ops by chance, in order of creation; placeholders are left out."""
    return [op for op in graph.get_operations() if op.inputs and rng.randrange(3)]


def case_regex(ge, seed):
    """Selection by expression."""
    graph = chance(seed)
    out = []
    for pattern in ("^s1/", "op_1", "s[02]/op_.$", "(?#ts)s1/.*:0$", "(?#ops)s2/"):
        out.append(names(ge.select_ops(pattern, graph=graph)))
        out.append(names(ge.select_ts(pattern, graph=graph)))
        ops, ts = ge.select_ops_and_ts(pattern, "in_1", graph=graph)
        out.append([names(ops), names(ts)])
        out.append(names(ge.filter_ops_from_regex(graph, pattern)))
        out.append(names(ge.filter_ts_from_regex(graph, pattern)))
    out.append(names(ge.get_name_scope_ops(graph, "s1/")))
    out.append(names(ge.filter_ts(graph, lambda t: "s" in t.name)))
    out.append(names(ge.filter_ops(graph, lambda op: op.type == "Mul")))
    return out


def case_boundary(ge, seed):
    """Boundaries and neighbors of ops by chance."""
    rng, graph = random.Random(seed), chance(seed)
    ops = some_ops(rng, graph)
    controls = ge.ControlOutputs(graph)
    return [
        [names(ts) for ts in ge.compute_boundary_ts(ops)],
        names(ge.get_ops_ios(ops)),
        names(ge.get_ops_ios(ops, control_inputs=True)),
        names(ge.get_ops_ios(ops, control_ios=controls)),
        {op.name: names(others) for op, others in controls.get_all().items()},
        names(ge.get_consuming_ops(ge.get_tensors(graph)[:5])),
        names(ge.get_generating_ops(ge.get_tensors(graph)[2:6])),
    ]


def case_walks(ge, seed):
    """Walks and floods; their order is by chance in TF 1.15."""
    rng, graph = random.Random(seed), chance(seed)
    ops, ts = graph.get_operations(), ge.get_tensors(graph)
    seed_op, top, within = ops[rng.randrange(6)], ops[-1 - rng.randrange(4)], some_ops(rng, graph)
    controls, stop = ge.ControlOutputs(graph), ts[8]
    out = []
    for inclusive in (True, False):
        out.append(ge.get_forward_walk_ops(seed_op, inclusive))
        out.append(ge.get_forward_walk_ops([seed_op.outputs[0]], inclusive, stop_at_ts=[stop]))
        out.append(ge.get_forward_walk_ops(seed_op, inclusive, within_ops=within, control_outputs=controls))
        out.append(ge.get_backward_walk_ops(top, inclusive, within_ops_fn=lambda op: "s1" not in op.name))
        out.append(ge.get_backward_walk_ops([top.outputs[0]], inclusive, stop_at_ts=[stop], control_inputs=True))
        out.append(ge.get_walks_intersection_ops(seed_op, top, inclusive, inclusive, control_ios=controls))
        out.append(ge.get_walks_union_ops(seed_op, top, inclusive, inclusive, within_ops=within))
    for inclusive in (True, False):
        out.append(ge.get_within_boundary_ops(graph, top, [ops[5], seed_op], inclusive))
        out.append(ge.get_within_boundary_ops(graph, [top], [ops[5]], inclusive, control_ios=controls))
    return [sorted(names(found)) for found in out]


def case_views(ge, seed):
    """Views and their remapping."""
    rng, graph = random.Random(seed), chance(seed)
    sgv = ge.make_view(some_ops(rng, graph), ge.get_tensors(graph)[:5])
    out = [view(sgv), view(ge.make_view_from_scope("s1", graph)), view(ge.sgv("s0", "(?#ts)in_", graph=graph))]
    inputs = list(range(len(sgv.inputs)))[::-1][: 1 + rng.randrange(3)]
    outputs = [rng.randrange(len(sgv.outputs)) for _ in range(4)]
    mapped = sgv.remap(inputs, outputs)
    out += [view(mapped), view(sgv.remap_inputs([sgv.inputs[0]])), view(mapped.remap_outputs_make_unique())]
    out += [view(mapped.remap_outputs_to_consumers()), view(mapped.remap_default()), names(mapped.consumers())]
    out += [view(mapped.remove_unused_ops()), view(mapped.remove_unused_ops(control_inputs=False))]
    out += [names(mapped.connected_inputs), names(mapped.connected_outputs)]
    return [*out, mapped.input_index(mapped.inputs[0]), mapped.output_index(mapped.outputs[-1]), bool(sgv)]


def case_reroute(ge, seed):
    """Edges moved; pairs that would close a circle are left out, as TF 1.15 makes them."""
    rng, graph = random.Random(seed), chance(seed)
    ts, ops = ge.get_tensors(graph), graph.get_operations()
    out = []
    for _ in range(4):
        old, late = ts[3 + rng.randrange(len(ts) - 3)], rng.randrange(3)
        allowed = ops[rng.randrange(len(ops)) :] if rng.randrange(2) else None
        out.append(ge.reroute_ts(ts[late], old, can_modify=allowed, cannot_modify=ops[-3]))
    out.append(ge.reroute_ts(ts[:2], [ts[2], ts[2]]))
    with graph.as_default():
        ends = [tf.square(ts[2], name=f"end_{i}").op.inputs[0] for i in range(2)] + [tf.square(ts[-1]).op.outputs[0]]
        tf.square(ends[-1], name="top")
    out.append(ge.swap_ts([ends[0]], [ends[-1]], cannot_modify=ends[-1].op))
    return [out, edges(graph)]


def case_edit(ge, seed):
    """Views detached, joined, bypassed."""
    kinds = {}
    for kind in ("detach", "inputs", "outputs", "bypass", "swap", "reroute", "swap_outputs", "connect"):
        graph = tf.Graph()
        with graph.as_default():
            for lane in "xy":
                t = tf1.placeholder(tf.float32, [2], name=lane)
                for i in range(3 + seed % 3):
                    t = tf.square(t, name=f"{lane}_{i}")
        one, two = ge.make_view("^x_[01]$", graph=graph), ge.make_view("^y_[12]$", graph=graph)
        if kind == "detach":
            sgv, ins, outs = ge.detach(one, control_ios=ge.ControlOutputs(graph))
            made = [view(sgv), names(ins), names(outs)]
        elif kind == "inputs":
            sgv, ins = ge.detach_inputs(one, control_inputs=True)
            made = [view(sgv), names(ins)]
        elif kind == "outputs":
            sgv, outs = ge.detach_outputs(one)
            made = [view(sgv), names(outs)]
        elif kind == "bypass":
            sgv, ins = ge.bypass(one)
            made = [view(sgv), names(ins)]
        elif kind == "connect":
            made = [view(sgv) for sgv in ge.connect(one, two, disconnect_first=bool(seed % 2))]
        else:
            how = {"swap": ge.swap_inputs, "reroute": ge.reroute_ios, "swap_outputs": ge.swap_outputs}[kind]
            made = [view(sgv) for sgv in how(one, two)]
        kinds[kind] = [made, edges(graph)]
    return kinds


def case_copy(ge, seed):
    """Copies: names, order, maps; TF 1.15 forgets the inputs of the new view."""
    rng, graph = random.Random(seed), chance(seed)
    sgv = ge.make_view(some_ops(rng, graph))
    out = []
    for scope, reuse in (("copy", False), ("copy", False), ("copy", True), ("", False), ("s1", False)):
        new, info = ge.copy(sgv, dst_scope=scope, reuse_dst_scope=reuse)
        kept = sgv.outputs[0]
        out.append([names(new.ops), names(new.outputs), names(info.transformed(list(sgv.ops))), info.original(kept)])
        out.append(names(info.original(info.transformed(list(sgv.outputs)))))
    new, info = ge.copy_with_input_replacements(sgv, {sgv.inputs[0]: sgv.inputs[-1]}, dst_scope="with")
    out.append({op.name: names(op.inputs) for op in new.ops})
    scoped = ge.make_view_from_scope("s1", graph)
    other = tf.Graph()
    new, info = ge.copy(scoped, other, dst_scope="z", src_scope="s1") if scoped.ops else (scoped, None)
    out.append([names(new.ops), names(new.outputs)])
    top = ge.get_tensors(graph)[-20:]
    ts = ge.get_tensors(chance(seed, waiting=False))
    replaced = ge.graph_replace({"a": ts[-1], "b": (ts[-2], ts[4])}, {ts[0]: ts[1]}, dst_scope="w")
    out.append([replaced["a"].name, names(replaced["b"]), len(top)])
    out.append(edges(ts[0].graph))
    return out


def case_names(ge, seed):
    """Names, trees, placeholders."""
    graph = small()
    t = graph.get_tensor_by_name("foo/bar/e:0")
    with graph.as_default():
        made = [ge.ph(tf.float32), ge.ph(tf.int32, [3], "deep"), ge.util.make_placeholder_from_tensor(t, scope="x")]
    return [
        [ge.placeholder_name(t), ge.placeholder_name(t, scope=""), ge.placeholder_name(t, "q/r")],
        names(made),
        [str(p.dtype) for p in made],
        [ge.util.scope_finalize("a"), ge.util.scope_dirname("a/b/c"), ge.util.scope_basename("a/b/c")],
        ge.util.flatten_tree({"a": [1, (2, {3})]}),
        ge.util.concatenate_unique([3, 1], [1, 2, 3, 2]),
        ge.util.transform_tree([1, {"k": (2, 3)}], lambda n: n * 10),
        ge.util.find_corresponding(t, small(), "foo").name if seed < 0 else "",
    ]


def signatures(ge):
    """The parameters of every public function and method, with their defaults."""
    out = {}
    for name in dir(ge):
        thing = getattr(ge, name)
        if name.startswith("_") or inspect.ismodule(thing) or not callable(thing):
            continue
        if not inspect.isclass(thing):
            out[name] = parameters(thing)
            continue
        for key in sorted(set(dir(thing)) - set(dir(object)) | {"__init__"}):
            part = inspect.getattr_static(thing, key)
            if key in ("__init__", "__call__") or not key.startswith("_"):
                out[f"{name}.{key}"] = parameters(part) if inspect.isfunction(part) else "property"
    return out


def parameters(function):
    """Names of parameters, with "=default" where there is one."""
    found = inspect.signature(function).parameters.values()
    return [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in found]


def cases(ge):
    """Every case at a few seeds."""
    found = [value for key, value in sorted(globals().items()) if key.startswith("case_")]
    for case in found:
        for seed in range(1 if case is case_names else 6):
            yield f"{case.__name__[5:]} {seed}", json.loads(json.dumps(case(ge, seed)))


if __name__ == "__main__":
    from tensorflow.contrib import graph_editor

    record = {"version": tf.__version__, "signatures": signatures(graph_editor), "cases": dict(cases(graph_editor))}
    json.dump(record, sys.stdout, sort_keys=True, separators=(",", ":"))
    print()
