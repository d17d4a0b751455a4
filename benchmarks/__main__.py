"""Runs benchmarks/bench_*.py, prints one table and writes results.json: python -m benchmarks [NAME...].

A module bench_NAME.py says in its docstring what it measures and has one function `rows() -> Iterable[Row]`.
Each runs in a separate process, so that none warms or loads the next. Exit code 1: a target was missed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peer import PEER_PATH
from benchmarks.rows import Row

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
MARK = "benchmark row: "


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmarks named, or all; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(available()) or "none yet")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--tf115", metavar="PYTHON", help="an interpreter with TensorFlow 1.15, to measure against")
    parser.add_argument("--json", type=Path, default=RESULTS, help="file of the results")
    parser.add_argument(
        "--peers", type=Path, metavar="FOLDER", help="a virtual environment with other viewers, for `view`"
    )
    given = parser.parse_args(arguments)
    if given.peers is not None:
        os.environ["GRAPHSURGEON_PEERS"] = str(given.peers.resolve())
    if given.one:
        for row in importlib.import_module(f"benchmarks.bench_{given.one}").rows():
            print(MARK + json.dumps(row.as_dict()), flush=True)
        return 0
    if given.tf115:
        os.environ[PEER_PATH] = given.tf115  # for the processes of the benchmarks
    unknown = sorted(set(given.names) - set(available()))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(available()) or 'none yet'}")
    results: list[dict[str, Any]] = []
    failed = [name for name in given.names or available() if not run(name, results)]
    print(table(results))
    given.json.write_text(json.dumps({"versions": versions(), "rows": results}, indent=1) + "\n")
    for name in failed:
        print(f"bench_{name} ended with an error", file=sys.stderr)
    return 1 if failed or not all(row["ok"] for row in results) else 0


def available() -> list[str]:
    """Returns the names of the benchmarks."""
    return sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))


def run(name: str, results: list[dict[str, Any]]) -> bool:
    """Runs one benchmark in a separate process and adds its rows; returns whether it ended well."""
    print(f"bench_{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks", "--one", name]
    with tempfile.TemporaryDirectory() as journals:  # a user must not be offered to restore the steps of a benchmark
        environment = {**os.environ, "GRAPHSURGEON_JOURNALS": journals}
        process = subprocess.Popen(command, cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(MARK):
                results.append({"bench": name, **json.loads(line.removeprefix(MARK))})
            else:
                print(line, end="", file=sys.stderr)
        return process.wait() == 0


def table(results: Sequence[dict[str, Any]]) -> str:
    """Returns the rows as a Markdown table.

    Example:
        >>> print(table([{**Row("copy", 0.2, 0.4, 0.8, "import").as_dict(), "bench": "copy"}]))
        | what | measured | against      | ratio | target | ok  |
        |------|----------|--------------|-------|--------|-----|
        | copy | 0.2 s    | 0.4 s import | 0.5   | 0.8    | yes |
    """
    lines = [["what", "measured", "against", "ratio", "target", "ok"]]
    for row in results:
        against, ratio, unit = row["against"], row["ratio"], row["unit"]
        lines.append(
            [
                row["name"],
                f"{row['measured']:.3g} {unit}",
                "" if against is None else f"{against:.3g} {unit} {row['peer']}".strip(),
                "" if ratio is None else f"{ratio:.3g}",
                f"{row['target']:.3g}" + ("" if ratio is not None else f" {unit}"),
                "yes" if row["ok"] else "NO",
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    text[1] = text[1].replace("| ", "|-").replace(" |", "-|")
    return "\n".join(text)


def versions() -> dict[str, str]:
    """Returns what the numbers depend on: versions, cores and the kind of machine, never its name."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "cores": str(os.cpu_count())}
    for package in ("tensorflow", "tensorflow-cpu", "numpy", "scipy", "rustworkx", "jupyterlab", "playwright"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


__all__ = ["Row", "available", "main", "run", "table", "versions"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
