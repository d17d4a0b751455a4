"""Fresh: code that runs in a new process, which knows nothing but TensorFlow, the files and what it is given."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any

from tests.graphs import tf1
from tests.needs import ROOT

#: Imports TensorFlow, which takes seconds, and nothing else; then makes a child of itself for each line it is given.
#: It has one thread and has run nothing, so that a child is what a process is that has just imported TensorFlow.
NURSERY = """
import json, os, sys
import tensorflow
assert len(os.listdir("/proc/self/task")) == 1
for line in sys.stdin:
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
given = json.loads(line)
for number, name in enumerate((os.devnull, given["out"], given["err"])):
    os.dup2(os.open(name, os.O_RDWR), number)
os.chdir(given["cwd"])
os.environ.update(given["environment"])
sys.argv = ["-c", *given["arguments"]]
code = compile(given["code"], "<string>", "exec")
for name in ("child", "given", "json", "line", "name", "number", "os", "sys", "tensorflow"):
    del globals()[name]
exec(code)
"""


@cache
def _nursery() -> subprocess.Popen[str]:
    """The process whose children run what is fresh; it ends with this one."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", NURSERY], env=environment, stdin=pipe, stdout=pipe, text=True)
    atexit.register(process.communicate)
    return process


def process(
    code: str, *arguments: str | Path, cwd: Path | str = ROOT, environment: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Runs code in a process of its own, as ``python -c`` does, in which TensorFlow was imported before.

    Args:
        code: what to run.
        arguments: what follows in ``sys.argv``.
        cwd: the folder to run in.
        environment: variables to set before; what TensorFlow reads when it is imported, it has read.

    Returns:
        Its exit code, output and errors, as `subprocess.run` gives them.
    """
    changed = {**os.environ, **(environment or {})}
    if sys.platform != "linux":  # elsewhere, a child of what has imported as much as TensorFlow may not live
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=changed, capture_output=True, text=True, check=False)
    nursery = _nursery()
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        out.touch(), err.touch()
        given = {"code": code, "arguments": [*map(str, arguments)], "cwd": str(cwd), "out": str(out), "err": str(err)}
        print(json.dumps({**given, "environment": changed}), file=nursery.stdin, flush=True)
        ended = nursery.stdout.readline() if nursery.stdout is not None else ""
        return CompletedProcess(code, int(ended), out.read_text(), err.read_text())


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
    done = process(RUN, there, back)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(back.read_text())
    return {
        name: text if text.startswith("failed") else read(tf1.GraphDef.FromString(bytes.fromhex(text)))
        for name, text in found.items()
    }
