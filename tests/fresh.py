"""Fresh: code of plans and histories, run in one new process that knows nothing but the files and what it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.graphs import tf1
from tests.needs import ROOT

RUN = """
import inspect, json, sys, traceback
cases, out = json.load(open(sys.argv[1])), {}
for name, (code, given) in cases.items():
    space = {"__name__": "fresh"}
    try:
        exec(given, space)
        exec(compile(code, name, "exec"), space)
        if "redo" in space:
            ed = space["redo"](*(space[p] for p in inspect.signature(space["redo"]).parameters))
        else:
            ed = space["dst"] if "dst" in space else space["ed"]
        out[name] = ed.graph_def().SerializeToString(deterministic=True).hex()
    except Exception:
        out[name] = "failed: " + traceback.format_exc()
json.dump(out, open(sys.argv[2], "w"))
"""


def read(graph_def: Any) -> str:
    """Returns a GraphDef as text; functions are numbered, since TensorFlow counts all that a process has made."""
    functions = sorted(graph_def.library.function, key=lambda f: (f.signature.name.rstrip("0123456789"), str(f.ret)))
    text = "".join(map(str, [*graph_def.node, *functions, graph_def.versions]))
    for number, function in enumerate(functions):
        text = text.replace(f'"{function.signature.name}"', f'"function {number}"')
    return text


def made(cases: dict[str, tuple[str, str]], folder: Path) -> dict[str, str]:
    """Runs codes in a new process, and returns the graph of each, as `read`; of one that failed, the text of its error.

    Args:
        cases: name -> (code of a plan or a history, Python that sets what it is to be given).
        folder: where to put the files that go there and back.
    """
    there, back = folder / "cases.json", folder / "made.json"
    there.write_text(json.dumps(cases))
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(there), str(back)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(back.read_text())
    return {
        name: text if text.startswith("failed") else read(tf1.GraphDef.FromString(bytes.fromhex(text)))
        for name, text in found.items()
    }
