"""A real JupyterLab or Notebook 7 for browser tests, and a second client on each notebook's kernel."""

from __future__ import annotations

import ast
import contextlib
import http.client
import json
import os
import secrets
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import BlockingKernelClient

from graphsurgeon.replica.cluster import free_ports
from tests import kernels
from tests.needs import ROOT
from tests.until import until

_APPS = {  # kind: (module, class of the application, page of a notebook)
    "lab": ("jupyterlab", "LabApp", "lab/tree/{}?reset"),
    "notebook": ("notebook", "JupyterNotebookApp", "notebooks/{}"),
}
_SETTINGS = {  # without the first, boxes that ask about news cover the page; the last is the default
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": False},
}
_CONNECTED = """name => {
    const context = window.jupyterapp?.shell.currentWidget?.context;
    return context?.path === name && context.sessionContext?.session?.kernel?.connectionStatus === 'connected';
}"""
#: Closes all but the launcher, which JupyterLab opens, and brings to the front, once nothing else is open.
_CLOSE = """() => [...window.jupyterapp.shell.widgets('main')]
    .filter(one => !one.id.startsWith('launcher')).forEach(one => one.dispose())"""
_LAUNCHER = "() => !window.jupyterapp.shell.isEmpty('main')"
OPENING = 240_000
"""Milliseconds after which it is pointless to wait for JupyterLab."""
_RUN_ALL = """() => {
    window.ranAll = '';
    window.jupyterapp.commands.execute('notebook:run-all-cells')
        .then(() => { window.ranAll = 'done'; }, (why) => { window.ranAll = String(why); });
}"""
_FAILED = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell) =>
    (cell.model.sharedModel.outputs ?? []).filter((o) => o.output_type === 'error')
        .map((o) => o.ename + ': ' + o.evalue))"""


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a process, by force if it does not end by itself."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Server:
    """One server in a folder of its own: no prompts, no news, no other network than this machine's loopback.

    Args:
        folder: an empty folder; `root` inside it holds the notebooks.
        kind: "lab" or "notebook".
    """

    def __init__(self, folder: Path, kind: str = "lab") -> None:
        self.folder, self.kind, self.root = folder, kind, folder / "root"
        self.root.mkdir()
        self.token, self.port = secrets.token_hex(16), free_ports(1)[0]
        settings = {k: v for k, v in _SETTINGS.items() if kind == "lab" or "docmanager" not in k}
        for name, value in settings.items():
            file = folder / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(value))
        built = folder / "config" / "labconfig" / "page_config.json"
        built.parent.mkdir(parents=True)  # without it, each page has Node asked whether all is built
        built.write_text(json.dumps({"buildCheck": False, "buildAvailable": False}))
        module, app, _ = _APPS[kind]
        command = [
            *(sys.executable, "-m", module, "--no-browser", "--allow-root", "--ip=127.0.0.1"),
            *(f"--port={self.port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={self.token}"),
            *(f"--ServerApp.root_dir={self.root}", "--ServerApp.terminals_enabled=False"),
            *("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
            *("--LabApp.extension_manager=readonly", f"--{app}.expose_app_in_browser=True"),
            "--ServerApp.log_level=WARN",
        ]
        self._ending: list[threading.Thread] = []
        self._log = (folder / "server.log").open("wb")
        about: dict[str, Any] = {"cwd": self.root, "stdout": self._log, "stderr": subprocess.STDOUT}
        self._process = subprocess.Popen(command, env=self._environment(), **about)
        try:
            until(self._answers, timeout=240)
        except BaseException:
            self.stop()
            print((folder / "server.log").read_text())
            raise

    def _environment(self) -> dict[str, str]:
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        # the kernel is not a test: pytest's variable would switch off parts of ipykernel
        kept = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
        return {
            **kept,
            **{key: str(self.folder / name) for key, name in places.items()},
            "JUPYTER_PATH": kernels.started(),
            "PYTHONPATH": str(ROOT),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"the server ended:\n{(self.folder / 'server.log').read_text()}")
        try:
            self.api("status")
        except (OSError, http.client.HTTPException):
            return False
        return True

    def url(self, path: str) -> str:
        """Returns the address of a page, token included."""
        return f"http://127.0.0.1:{self.port}/{path}{'&' if '?' in path else '?'}token={self.token}"

    def page_of(self, notebook: str) -> str:
        """Returns the address of a notebook in this server's own interface."""
        return self.url(_APPS[self.kind][2].format(notebook))

    def api(self, path: str, method: str = "GET") -> Any:
        """Returns the JSON answer of the server's REST interface."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/{path}", method=method)
        request.add_header("Authorization", f"token {self.token}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def client(self, kernel: str) -> BlockingKernelClient:
        """Returns a second client on a running kernel, to ask Python what it saw."""
        file = self.folder / "runtime" / f"kernel-{kernel}.json"
        client = BlockingKernelClient(connection_file=str(file))
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=240)
        return client

    def end(self, kernel: str, wait: bool = False) -> None:
        """Ends a kernel, which takes seconds; `stop` waits for it, or this call."""

        def ask() -> None:
            with contextlib.suppress(Exception):
                self.api(f"kernels/{kernel}", "DELETE")

        self._ending.append(threading.Thread(target=ask, daemon=True))
        self._ending[-1].start()
        if wait:
            self._ending[-1].join()

    def stop(self) -> None:
        """Ends its kernels and the server."""
        for thread in self._ending:
            thread.join()
        with contextlib.suppress(Exception):
            for kernel in self.api("kernels"):
                self.api(f"kernels/{kernel['id']}", "DELETE")
        end(self._process)
        self._log.close()


class Opened:
    """A notebook open in the browser: the page, and the kernel behind it."""

    def __init__(self, page: Any, server: Server, name: str) -> None:
        self.page, self.server, self.name = page, server, name
        sessions = until(lambda: [s for s in server.api("sessions") if s["path"] == name and s.get("kernel")])
        self.kernel: str = sessions[0]["kernel"]["id"]
        self.client = server.client(self.kernel)

    def ask(self, expression: str, timeout: float = 240) -> Any:
        """Returns the value of a Python expression in the notebook's kernel."""
        return ask(self.client, expression, timeout)

    def run(self, code: str, timeout: float = 240) -> None:
        """Runs code in the notebook's kernel, beside its cells; an error there is an error here."""
        content = self.client.execute(code, reply=True, timeout=timeout, store_history=False)["content"]
        if content["status"] != "ok":
            raise RuntimeError("\n".join(content.get("traceback", [content["status"]])))

    def run_all(self, timeout: float = 240) -> None:
        """Runs all cells by command and waits for the last; a cell that raises fails the test."""
        self.page.evaluate(_RUN_ALL)
        self.page.wait_for_function("() => window.ranAll", timeout=timeout * 1000)
        assert self.page.evaluate("() => window.ranAll") == "done", self.page.evaluate("() => window.ranAll")
        failed = self.page.evaluate(_FAILED)
        assert not failed, failed

    def close(self, wait: bool = False) -> None:
        """Closes the notebook, JupyterLab's page stays, and ends the kernel.

        Args:
            wait: waits for the end of the kernel: a notebook that is opened again meanwhile would get the same kernel.
        """
        self.client.stop_channels()
        if _in_lab(self.page, self.server):
            self.page.evaluate(_CLOSE)
            self.page.wait_for_function(_LAUNCHER)
        else:
            with contextlib.suppress(Exception):
                self.page.goto("about:blank")
        self.server.end(self.kernel, wait)


def open_notebook(
    page: Any, server: Server, cells: list[str], name: str = "", run: bool = True, timeout: float = 240
) -> Opened:
    """Writes a notebook, opens it in the server's own interface, and runs all its cells.

    Args:
        page: the Playwright page (fixture `page`).
        server: fixture `lab` or `notebook7`.
        cells: the source of each code cell.
        name: file name; by default one that was not used yet.
        run: False leaves the cells for the test to run.
        timeout: seconds for all the cells together.
    """
    name = name or f"test{len(list(server.root.glob('*.ipynb')))}.ipynb"
    write_notebook(server.root / name, cells)
    return open_file(page, server, name, run, timeout)


def open_file(page: Any, server: Server, name: str, run: bool = True, timeout: float = 240) -> Opened:
    """Opens a notebook that lies in the server's folder, and runs all its cells.

    A page that has this JupyterLab already is not loaded again.

    Args:
        page: the Playwright page (fixture `page`).
        server: fixture `lab` or `notebook7`.
        name: file name.
        run: False leaves the cells for the test to run.
        timeout: seconds for all the cells together.
    """
    if _in_lab(page, server):
        page.evaluate("async path => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }", name)
    else:
        page.goto(server.page_of(name), wait_until="domcontentloaded")
        page.wait_for_function("() => window.jupyterapp?.restored", timeout=OPENING)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=OPENING)
    page.wait_for_function(_CONNECTED, arg=name, timeout=OPENING)
    opened = Opened(page, server, name)
    if run:
        opened.run_all(timeout)
    return opened


def _in_lab(page: Any, server: Server) -> bool:
    """Whether the page shows this server's JupyterLab."""
    return bool(page.url.startswith(f"http://127.0.0.1:{server.port}/lab"))


def set_theme(page: Any, theme: str) -> None:
    """Changes the theme, and waits until it is shown and the splash is gone.

    JupyterLab removes the one splash after each change: a second change at once makes it fail.

    Args:
        page: the Playwright page.
        theme: "Light" or "Dark".
    """
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab ' + theme})", theme
    )
    page.wait_for_function("dark => document.body.dataset.jpThemeLight === String(!dark)", arg=theme == "Dark")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def write_notebook(path: Path, cells: list[str]) -> None:
    """Writes a notebook of code cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    code = [nbformat.v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=code, metadata={"kernelspec": kernel}), path)


def ask(client: BlockingKernelClient, expression: str, timeout: float = 240) -> Any:
    """Returns the value of a Python expression in a kernel, as JSON has it: tuples and sets come as lists."""
    dumped = f"__import__('json').dumps({expression}, default=sorted)"
    answer = client.execute("", user_expressions={"v": dumped}, reply=True, timeout=timeout, store_history=False)
    value = answer["content"]["user_expressions"]["v"]
    if value["status"] != "ok":
        raise RuntimeError(f"{expression}: {value['ename']}: {value['evalue']}")
    return json.loads(ast.literal_eval(value["data"]["text/plain"]))
