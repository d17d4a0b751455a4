"""The functions of `tf.contrib.graph_editor` of TensorFlow 1.15, for current TensorFlow.

    from graphsurgeon import graph_editor as ge

Names, arguments and results are the same. Known bugs are fixed. Edits change a live graph in place.

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
from .edit import *  # noqa: F403
from .match import *  # noqa: F403
from .reroute import *  # noqa: F403
from .select import *  # noqa: F403
from .subgraph import *  # noqa: F403
from .transform import *  # noqa: F403
from .util import *  # noqa: F403
from .util import GraphEditorWarning

matcher = match.OpMatcher
ph = util.make_placeholder_from_dtype_and_shape
sgv = subgraph.make_view
sgv_scope = subgraph.make_view_from_scope

__all__ = ["edit", "match", "reroute", "select", "subgraph", "transform", "util"]
__all__ += [*edit.__all__, *match.__all__, *reroute.__all__, *select.__all__, *subgraph.__all__, *transform.__all__]
__all__ += [*util.__all__, "GraphEditorWarning", "matcher", "ph", "sgv", "sgv_scope"]
