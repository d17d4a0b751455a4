"""The graph editor: what `tf.contrib.graph_editor` of TensorFlow 1.15 had, on the TensorFlow of today.

    from graphsurgeon import graph_editor as ge

Same names, arguments and results; its known bugs are fixed rather than kept. Edits are made in place, in a live graph.

Example:
    >>> import tensorflow as tf
    >>> from graphsurgeon import graph_editor as ge
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
    ...     y = tf.square(x + 1.0, name="y")
    ...     other = tf.constant([2.0], name="other")
    >>> view = ge.make_view(ge.get_within_boundary_ops(graph, [y.op], [x.op], inclusive=False))
    >>> copied, info = ge.copy_with_input_replacements(view, {x: other}, dst_scope="copy")
    >>> info.transformed(y).name, copied.inputs[0].name
    ('copy/y:0', 'other:0')
"""

from . import edit, match, reroute, select, subgraph, transform, util
from .edit import bypass, connect, detach, detach_control_inputs, detach_control_outputs, detach_inputs, detach_outputs
from .faults import GraphEditorWarning
from .match import OpMatcher, op_type
from .reroute import (
    add_control_inputs,
    remove_control_inputs,
    reroute_a2b_ts,
    reroute_b2a_ts,
    reroute_inputs,
    reroute_ios,
    reroute_outputs,
    reroute_ts,
    swap_inputs,
    swap_ios,
    swap_outputs,
    swap_ts,
)
from .select import (
    can_be_regex,
    check_cios,
    compute_boundary_ts,
    filter_ops,
    filter_ops_from_regex,
    filter_ts,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_name_scope_ops,
    get_ops_ios,
    get_walks_intersection_ops,
    get_walks_union_ops,
    get_within_boundary_ops,
    make_regex,
    select_ops,
    select_ops_and_ts,
    select_ts,
)
from .subgraph import SubGraphView, make_view, make_view_from_scope
from .transform import (
    Transformer,
    TransformerInfo,
    assign_renamed_collections_handler,
    copy,
    copy_op_handler,
    copy_with_input_replacements,
    graph_replace,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
)
from .util import (
    ControlOutputs,
    ListView,
    check_graphs,
    concatenate_unique,
    find_corresponding,
    find_corresponding_elem,
    flatten_tree,
    get_consuming_ops,
    get_generating_ops,
    get_predefined_collection_names,
    get_tensors,
    get_unique_graph,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
    make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor,
    placeholder_name,
    scope_basename,
    scope_dirname,
    scope_finalize,
    transform_tree,
)

matcher = OpMatcher
ph = make_placeholder_from_dtype_and_shape
sgv = make_view
sgv_scope = make_view_from_scope

__all__ = [
    # modules
    "edit", "match", "reroute", "select", "subgraph", "transform", "util",
    # util
    "make_list_of_op", "get_tensors", "make_list_of_t", "get_generating_ops", "get_consuming_ops", "ControlOutputs",
    "placeholder_name", "make_placeholder_from_tensor", "make_placeholder_from_dtype_and_shape", "concatenate_unique",
    "ListView", "is_iterable", "flatten_tree", "transform_tree", "check_graphs", "get_unique_graph", "scope_finalize",
    "scope_dirname", "scope_basename", "get_predefined_collection_names", "find_corresponding_elem",
    "find_corresponding",
    # select
    "can_be_regex", "make_regex", "filter_ts", "filter_ts_from_regex", "filter_ops", "filter_ops_from_regex",
    "get_name_scope_ops", "check_cios", "get_ops_ios", "compute_boundary_ts", "get_within_boundary_ops",
    "get_forward_walk_ops", "get_backward_walk_ops", "get_walks_intersection_ops", "get_walks_union_ops", "select_ops",
    "select_ts", "select_ops_and_ts",
    # subgraph
    "SubGraphView", "make_view", "make_view_from_scope",
    # reroute
    "swap_ts", "reroute_ts", "swap_inputs", "reroute_inputs", "swap_outputs", "reroute_outputs", "swap_ios",
    "reroute_ios", "reroute_a2b_ts", "reroute_b2a_ts", "remove_control_inputs", "add_control_inputs",
    # edit
    "detach_control_inputs", "detach_control_outputs", "detach_inputs", "detach_outputs", "detach", "connect", "bypass",
    # transform
    "replace_t_with_placeholder_handler", "keep_t_if_possible_handler", "assign_renamed_collections_handler",
    "transform_op_if_inside_handler", "copy_op_handler", "Transformer", "TransformerInfo", "copy",
    "copy_with_input_replacements", "graph_replace",
    # match
    "OpMatcher", "op_type",
    # aliases
    "matcher", "ph", "sgv", "sgv_scope",
    # warnings
    "GraphEditorWarning",
]  # fmt: skip
