"""Fixtures (a browser, pages, JupyterLab, Notebook 7, the corpus), the two tiers, and the report of time and memory."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from graphsurgeon.graph.concurrency import gc_paused
from tests import tiers
from tests.corpus import Corpus, open_corpus
from tests.lab import Server
from tests.needs import ROOT, corpus_folder, need

_CHROMIUM = [
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-extensions", "--disable-sync", "--no-first-run"),
    *("--force-color-profile=srgb", "--font-render-hinting=none"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # asked or not, nothing is reached
]
#: What JupyterLab and Notebook 7 are started for: once, as it all stays with one worker.
_IN_LAB = ("tests/jupyter/",)
_SIZE, _TIMEOUT = {"width": 1400, "height": 900}, 120_000
_BROWSER_FIXTURES = {"browser", "page", "lab", "notebook7"}
_HERE = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "about:")
# Notebook 7 logs this by itself, with no settings and no widget.
_NOT_OURS = re.compile(r"Cannot read properties of undefined \(reading 'schema'\)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-tensorflow",
        action="store_true",
        help="make any import of tensorflow an error: proves that the core works without it",
    )
    parser.addoption(
        "--tier",
        choices=tiers.NAMES,
        default="quick",
        help="quick: what a change can break; deep: the rest, and more of each property; all: both (default: quick)",
    )


def pytest_configure(config: pytest.Config) -> None:
    tiers.choose(config.getoption("--tier"))
    if config.getoption("--no-tensorflow"):
        sys.meta_path.insert(0, _NoTensorFlow())


@pytest.fixture(autouse=True, scope="session")
def _time_for_layouts() -> Iterator[None]:
    """Lets each layout end: what a picture looks like depends on no clock, but where a test gives a limit itself."""
    from graphsurgeon.view.layout import place

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(place.__kwdefaults__, "timeout", 600.0)
        yield


@pytest.fixture(autouse=True)
def _loops_as_at_first() -> Iterator[None]:
    """Loops and conds are of TensorFlow 2 at the start of each test, whatever the one before it left switched off."""
    yield
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].compat.v1.enable_control_flow_v2()


class _NoTensorFlow:
    """An importer that refuses TensorFlow."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in ("tensorflow", "keras"):
            raise ImportError(f"{name} was imported in a run with --no-tensorflow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Lets the garbage collector rest while modules are imported, and never look at them again: they stay to the end.

    With it, a third of the time of a collection goes into looking for garbage, and each later search takes longer.
    """
    with gc_paused():
        found = yield
    gc.collect()
    gc.freeze()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """What a file of tests has left, in caches or half made, is not looked at again for those that follow."""
    yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
        _return_memory()


def _return_memory() -> None:
    """Returns freed memory to the system: glibc keeps it, in pieces that the next file of tests may not fit into."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests that need a browser or the corpus, and keeps those of the tier.

    Without a corpus its tests are left out, except in CI. With two workers the longest files start first, so that
    none of them is left for one worker alone at the end.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if _BROWSER_FIXTURES & fixtures:
            item.add_marker("browser")
        if "corpus" in fixtures:
            item.add_marker("corpus")
    if _without_corpus():
        items[:] = [item for item in items if item.get_closest_marker("corpus") is None]
    if left_out := [item for item in items if not tiers.has(item)]:
        config.hook.pytest_deselected(items=left_out)
        items[:] = filter(tiers.has, items)
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    long = [item.get_closest_marker("browser"), item.get_closest_marker("corpus"), item.path.suffix == ".ipynb"]
    return next((turn for turn, found in enumerate(long) if found), len(long))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Reports the largest resident size of this worker; the quick tier fails if a worker needed too much memory."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["peak"] = peak()
    elif largest_peak() > MEMORY and not tiers.deep():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _PEAKS.append(getattr(node, "workeroutput", {}).get("peak", 0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the ten slowest files and the largest resident size of a worker."""
    seconds: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                file = report.nodeid.partition("::")[0]
                seconds[file] = seconds.get(file, 0.0) + report.duration
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:10]
    if len(seconds) > len(slowest):
        terminalreporter.section("slowest files")
        for file, time in slowest:
            terminalreporter.write_line(f"{time:7.1f} s  {file}")
        largest = largest_peak()
        limit = f", more than the {MEMORY / 2**30:.0f} GiB that the quick tier may use" if largest > MEMORY else ""
        terminalreporter.write_line(f"largest worker: {largest / 2**30:.1f} GiB{limit}")
    if _without_corpus():
        terminalreporter.write_line(
            "The tests on real graphs were left out: GRAPHSURGEON_CORPUS names no folder that holds some."
        )


_PEAKS: list[int] = []
#: The largest resident size of a worker in the quick tier, in bytes.
MEMORY = 3 << 30


def largest_peak() -> int:
    """Returns the largest resident size of this process and of the workers that have ended, in bytes."""
    return max([*_PEAKS, peak()])


def peak() -> int:
    """Returns the largest resident size that this process had, in bytes."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    if (status := Path("/proc/self/status")).exists():  # that of `resource` starts at the peak of the parent process
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) << 10
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def _without_corpus() -> bool:
    return corpus_folder() is None and os.environ.get("CI") != "true"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile a file stays in one piece, and all that runs in JupyterLab shares one browser and server."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return _IN_LAB[0] if file.startswith(_IN_LAB) else file

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Lets the page fixture know whether its test failed."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """The real graphs beside the checkout."""
    return open_corpus()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, headless."""
    path = need("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=_CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Tab]:
    """The page of a file of tests."""
    tab = Tab(browser)
    yield tab
    tab.close()


@pytest.fixture
def page(tab: Tab, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page of a file of tests, which reaches this machine only; see `checked`."""
    page = tab.opened()
    try:
        with checked(page, request.node):
            yield page
    finally:
        if request.node.stash.get(_FAILED, True):
            tab.close()


@pytest.fixture
def fresh_page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of this test alone."""
    with new_page(browser) as page, checked(page, request.node):
        yield page


class Tab:
    """A page that the tests of a file share, since a new one takes longer than most of them.

    Args:
        browser: the browser.
    """

    def __init__(self, browser: Any) -> None:
        self._browser, self._stack, self._page = browser, ExitStack(), None

    def opened(self) -> Any:
        """Returns the page, with the size, the media and the pointer of a new one."""
        if self._page is None:
            self._page = self._stack.enter_context(new_page(self._browser))
        self._page.set_viewport_size(_SIZE)
        self._page.set_default_timeout(_TIMEOUT)
        self._page.emulate_media(color_scheme="light", reduced_motion="reduce", forced_colors="none")
        self._page.mouse.move(0, 0)
        return self._page

    def close(self) -> None:
        """Closes the page; the next test gets a new one."""
        self._stack.close()
        self._page = None


@contextmanager
def new_page(browser: Any) -> Iterator[Any]:
    """Opens a page in a context of its own.

    `page.errors` and `page.blocked` collect errors and requests elsewhere; a test that means them empties the list.
    """
    context = browser.new_context(viewport=_SIZE, reduced_motion="reduce")
    context.set_default_timeout(_TIMEOUT)
    page = context.new_page()
    page.errors, page.blocked = [], []

    def note(text: str) -> None:
        if not _NOT_OURS.search(text):
            page.errors.append(text)

    def ask(request: Any) -> None:
        opened = request.is_navigation_request() and request.url.startswith("file:")
        if not opened and not request.url.startswith(_HERE):
            page.blocked.append(request.url)

    page.on("pageerror", lambda error: note(str(error)))
    page.on("console", lambda message: note(message.text) if message.type == "error" else None)
    page.on("request", ask)
    try:
        yield page
    finally:
        context.close()


@contextmanager
def checked(page: Any, test: pytest.Item) -> Iterator[None]:
    """Fails a test during which the page had errors or made requests elsewhere.

    A failed test leaves a screenshot in build/screenshots.
    """
    yield
    if test.stash.get(_FAILED, True):
        folder = ROOT / "build" / "screenshots"
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / (re.sub(r"\W+", "-", test.name) + ".png"))
    errors, blocked = list(page.errors), list(page.blocked)
    page.errors.clear(), page.blocked.clear()
    assert not errors, f"errors on the page: {errors}"
    assert not blocked, f"the page asked for addresses outside this machine: {blocked}"


@pytest.fixture(scope="session")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A JupyterLab in a folder of its own."""
    yield from _serve(tmp_path_factory.mktemp("lab"), "lab")


@pytest.fixture(scope="session")
def notebook7(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Notebook 7 in a folder of its own."""
    yield from _serve(tmp_path_factory.mktemp("notebook7"), "notebook")


def _serve(folder: Path, kind: str) -> Iterator[Server]:
    server = Server(folder, kind)
    yield server
    server.stop()
