"""How Sphinx builds the site; `tools/build_docs.py` puts its source together and calls it."""

import dataclasses
import re

import graphsurgeon

project = "graphsurgeon"
author = "the graphsurgeon authors"
copyright = f"{author}, Apache-2.0"
version = release = graphsurgeon.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["conf.py", "_live"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
default_role = "code"  # docstrings write names in single backticks

html_theme = "furo"  # its fonts are those of the system: nothing comes from a network
html_title = "graphsurgeon"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_extra_path = ["_live"]  # exported pages of graphs, by tools/build_docs.py

nb_execution_mode = "off"  # notebooks are shown as they were run by `make notebooks`, and run again by the tests
nb_ipywidgets_js = {}  # stored pictures are static: no script for widgets
nb_merge_streams = True
myst_heading_anchors = 3

suppress_warnings = ["ref.python"]  # `bytes` in a signature is Python's, though two classes have a field of that name

autodoc_class_signature = "mixed"
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name
    for name in (
        "Step", "ArrayLike", "Named", "Ops", "Tensors", "ViewLike",
        "DTypeLike", "FeedDict", "GraphSource", "OpLike", "OpsLike", "PathLike", "ShapeLike", "TensorLike", "TensorMap",
        "TensorsLike", "ValueSource",
    )
}  # fmt: skip
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Fields", "params_style")]
strip_signature_backslash = True  # else a parameter `elem_` is called `elem` in its description


def setup(app):
    """Hides how objects are constructed if users receive them from functions and methods."""

    def given(what, thing):
        """Whether users construct no object of a class: true of all but those of graph_editor, like its original."""
        return what == "class" and not thing.__module__.startswith("graphsurgeon.graph_editor")

    def signature(app, what, name, thing, options, arguments, returns):
        if given(what, thing):
            return "", returns
        return arguments and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", arguments), returns

    def docstring(app, what, name, thing, options, lines):
        """Makes the arguments of a data class its fields, and removes those of other classes."""
        if not given(what, thing) or "Args:" not in lines:
            return
        start = lines.index("Args:")
        end = next((n for n in range(start + 1, len(lines)) if lines[n] and lines[n][0] != " "), len(lines))
        lines[start:end] = ["Fields:", *lines[start + 1 : end]] if dataclasses.is_dataclass(thing) else []

    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring, priority=400)  # before napoleon
