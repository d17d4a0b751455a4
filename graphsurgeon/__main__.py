"""The command line, for use without a notebook: graphsurgeon view model.pb -o model.html."""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .errors import OpenError, SurgeryError, counted
from .graph.atomic_files import write_atomic
from .graph.concurrency import gc_paused
from .graph.open_graph import KINDS

FORMATS: dict[str, Callable[[Any, Any], str]] = {
    "dot": lambda ed, given: str(ed.to_dot(given.unfold).source),
    "html": lambda ed, given: str(ed.to_html(given.unfold, given.theme)),
    "svg": lambda ed, given: str(ed.to_svg(given.unfold)),
}
"""Format -> function that returns the text of the file."""
VERSION: str = sys.modules["graphsurgeon"].__version__  # this package is loaded, however its command line is run
PACKAGES = ("tensorflow", "numpy", "anywidget", "jupyterlab", "notebook")
"""Packages whose versions a bug report should list."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Args:
        arguments: the words after ``graphsurgeon``; default: those of this process.

    Returns:
        the exit code: 0 success, 1 failure with the reason on standard error, 2 invalid command line.

    Example:
        >>> main(["view", "no-such-file.pb", "-o", "-"])
        1
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    options = _parser().parse_args(arguments)
    atexit.register(gc.freeze)  # the process ends without a last collection
    try:
        with gc_paused():
            return int(options.run(options))
    except SurgeryError as error:
        print(f"graphsurgeon: {error}", file=sys.stderr)
    except BrokenPipeError:
        # the reader of the pipe has closed it; Python must not report this again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        refusal = SurgeryError(f"writing {options.output!r}", error.strerror or str(error), "Give another path with -o")
        print(f"graphsurgeon: {refusal}", file=sys.stderr)
    return 1


def _called() -> str:
    """Returns the name of the command: the script that pip installs, or the module."""
    return "graphsurgeon" if Path(sys.argv[0]).stem == "graphsurgeon" else "python -m graphsurgeon"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_called(),
        description="Views and scans TensorFlow graphs without a notebook.",
        epilog="Exit code: 0 success, 1 failure (standard error has the reason), 2 invalid command line. "
        "Exit code of scan: 0 no risks, 1 risks found, 2 the file cannot be read.",
    )
    parser.add_argument("--version", action="version", version=f"graphsurgeon {VERSION}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    view = commands.add_parser(
        "view",
        help="write a picture of a graph: a page that folds and unfolds, SVG, or DOT",
        description="Writes a picture of a graph: an HTML page that folds and unfolds in any browser, without a "
        "network; a static SVG; or DOT for Graphviz.",
        epilog=f"Example: {_called()} view model.pb -o model.html",
    )
    view.add_argument("model", help=KINDS)
    view.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write; - is standard output; default: MODEL.html in this folder",
    )
    view.add_argument("-f", "--format", choices=sorted(FORMATS), help="default: by the suffix of FILE, html for -")
    view.add_argument(
        "-u",
        "--unfold",
        metavar="SCOPE",
        action="append",
        help="unfold only this scope; repeat the option for several scopes; default: chosen automatically",
    )
    view.add_argument("--theme", choices=["auto", "dark", "light"], default="auto", help="of the page; default: auto")
    view.add_argument("--title", help="title of the graph; default: the name of the file")
    view.add_argument("--tags", action="append", help="tags of a graph, for a SavedModel with several graphs")
    view.add_argument("--signature", help="open this signature of a SavedModel, for example serving_default")
    view.add_argument("--raw", action="store_true", help="show the raw graph of a TF2 SavedModel")
    view.add_argument("--no-open", action="store_true", help="only write the page; do not open it in the browser")
    view.set_defaults(run=_view)
    scan = commands.add_parser(
        "scan",
        help="list the ops of a file that read or write files, open network connections, call Python, ...",
        description="Lists the ops of a file that read or write files, open network connections, or call Python or "
        "other code, also in functions. Marks the ops that run when the file is loaded. No op of the file is run.",
        epilog="Exit code: 0 no risks, 1 risks found, 2 the file cannot be read (standard error has the reason).",
    )
    scan.add_argument("model", help=KINDS)
    scan.add_argument("--json", action="store_true", help="print a JSON list with an object for each graph of the file")
    scan.set_defaults(run=_scan, output="-")
    doctor = commands.add_parser(
        "doctor",
        help="show the layout engine in use, why the other engines are not used, and package versions",
        description="Shows the layout engine in use, and why the other engines are not used. Also shows the package "
        "versions that a bug report should list, without importing the packages. Exit code 1: no engine can run.",
    )
    doctor.set_defaults(run=_doctor, output="-")
    return parser


def _view(options: argparse.Namespace) -> int:
    from .editor.open import open as opened

    if options.output is None:
        options.output = f"{Path(options.model).name.split('.')[0] or 'graph'}.{options.format or 'html'}"
    form = options.format or _format_of(options.output)
    if options.unfold is not None:
        # a scope is open only if the scopes around it are open
        scopes = [scope.strip("/").split("/") for scope in options.unfold if scope.strip("/")]
        options.unfold = ["/".join(parts[: i + 1]) + "/" for parts in scopes for i in range(len(parts))]
    if not Path(options.model).exists():
        raise OpenError(
            f"view {options.model!r}",
            "there is no such file or folder",
            f"Give the path of {KINDS}",
        )
    editor = opened(options.model, tags=options.tags, signature=options.signature, raw=options.raw, title=options.title)
    for scope in options.unfold or ():
        if scope.rstrip("/") not in editor.snapshot.scopes.index:
            editor.screen.unfold(scope)  # raises, with the nearest names
    text = FORMATS[form](editor, options)
    if options.output == "-":
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.flush()
    else:
        write_atomic(options.output, text.encode("utf-8"))
        print(f"{editor.title}: {counted(len(editor), 'ops')}, written to {options.output}", file=sys.stderr)
        if form == "html" and not options.no_open:
            import webbrowser

            if not webbrowser.open(Path(options.output).resolve().as_uri()):
                print(f"graphsurgeon: no browser was found; open {options.output} yourself", file=sys.stderr)
    return 0


def _scan(options: argparse.Namespace) -> int:
    from .tf.open.protos import scan

    try:
        reports = scan(Path(options.model))
    except SurgeryError as error:
        print(f"graphsurgeon: {error}", file=sys.stderr)
        return 2
    if options.json:
        rows = [{"title": one.title, "risks": one.table(), "unknown": list(one.unknown)} for one in reports]
        print(json.dumps(rows, indent=1))
    else:
        print(*reports, sep="\n")
    return 1 if any(reports) else 0


def _format_of(output: str) -> str:
    suffix = Path(output).suffix.lower().lstrip(".")
    form = {"htm": "html", "gv": "dot"}.get(suffix, suffix)
    if output == "-":
        return "html"
    if form not in FORMATS:
        formats = ", ".join(sorted(FORMATS))
        hint = " (a browser or rsvg-convert makes a bitmap of an .svg)" if form in ("png", "jpg", "jpeg", "pdf") else ""
        raise SurgeryError(
            f"view -o {output!r}",
            f"there is no format {suffix or 'without a suffix'!r}{hint}",
            f"The formats are {formats}",
        )
    return form


def _doctor(options: argparse.Namespace) -> int:
    import importlib.metadata

    from .view.graphviz import doctor, live

    print(doctor())
    print(f"versions: graphsurgeon {VERSION}, Python {platform.python_version()} on {platform.system()}")
    for name in PACKAGES:
        try:
            print(f"  {name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"  {name} is not installed")
    return 0 if live() is not None else 1


if __name__ == "__main__":
    sys.exit(main())
