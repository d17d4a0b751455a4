"""Makes the animated recording of the README in a real JupyterLab: python tools/write_recording.py FILE.

A hand opens a trained model, marks the part to keep, and trains a new head on it, with real mouse and key events. The
pointer and the line at the top, which names the gesture, are laid over the page; the rest is the page. It needs
the packages of the browser tests, and Pillow. Look at the film; `--frames FOLDER` keeps each frame as a PNG.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.hands import IMPORTS, answered, box, fit, painted, said  # noqa: E402
from tests.lab import Server, open_notebook  # noqa: E402
from tests.needs import need  # noqa: E402

#: Writes the file that the shown cells open.
BUILD = "\ngs.examples.classifier('.')"
CELLS = [
    "import keras\nimport graphsurgeon as gs",
    "ed = gs.open('classifier')\ned",
    "part = ed.screen.region.boundary\n"
    "features = ed.keras_layer(part.inputs[0], part.outputs[0], trainable=False)\n"
    "print(len(features.weights), 'trained weights are kept')",
    "images, kinds = gs.examples.pictures(300, seed=7)\n"
    "slanted = kinds // 2  # a new question: 0 for rows and columns, 1 for diagonals and crosses\n"
    "model = keras.Sequential([features, keras.layers.Dense(1, activation='sigmoid')])\n"
    "model.compile(keras.optimizers.Adam(0.1), 'binary_crossentropy', metrics=['accuracy'])\n"
    "model.fit(images[:100], slanted[:100], epochs=20, verbose=0)\n"
    "print(f'{model.evaluate(images[100:], slanted[100:], verbose=0)[1]:.0%} of new images are right')",
]
#: The largest that the recording may be, in bytes: a README must load.
LIMIT = 3_000_000
SIZE = {"width": 1240, "height": 960}
#: Lays a pointer over the page, which follows the mouse, and a line that names the gesture.
OVERLAY = """() => {
    const pointer = document.createElement('div'), line = document.createElement('div');
    pointer.innerHTML = '<svg width="26" height="30" viewBox="0 0 13 15">'
        + '<path d="M1 1v11l3-2.6 1.9 4.2 1.8-.8-1.9-4h4z" fill="#111" stroke="#fff"/></svg>';
    pointer.style = 'position:fixed;left:0;top:0;z-index:2147483647;pointer-events:none;border-radius:50%';
    line.style = 'position:fixed;left:50%;top:37px;transform:translateX(-50%);z-index:2147483646;padding:6px 20px;'
        + 'border-radius:22px;background:#111d;color:#fff;font:600 19px sans-serif;white-space:nowrap;'
        + 'pointer-events:none';
    document.body.append(pointer, line);
    const move = event => { pointer.style.translate = `${event.clientX - 2}px ${event.clientY - 2}px`; };
    const press = on => () => { pointer.style.background = on ? '#1976d255' : ''; };
    window.addEventListener('mousemove', move, true);
    window.addEventListener('mousedown', press(true), true);
    window.addEventListener('mouseup', press(false), true);
    window.say = text => { line.textContent = text; line.hidden = !text; };
    window.say('');
}"""


class Film:
    """A person at the page, and what a camera sees of it.

    Args:
        page: the Playwright page.
    """

    def __init__(self, page: Any) -> None:
        self.page, self.frames, self.milliseconds = page, list[Image.Image](), list[int]()
        self.at = (SIZE["width"] * 0.8, SIZE["height"] * 0.8)

    def hold(self, milliseconds: int) -> None:
        """Shows what is on the page for so long."""
        painted(self.page)
        shown = Image.open(io.BytesIO(self.page.locator("#jp-main-dock-panel").screenshot())).convert("RGB")
        if self.frames and self.frames[-1].tobytes() == shown.tobytes():
            self.milliseconds[-1] += milliseconds
        else:
            self.frames.append(shown)
            self.milliseconds.append(milliseconds)

    def say(self, text: str) -> None:
        """Names what is done next."""
        self.page.evaluate("text => window.say(text)", text)
        self.hold(500)

    def to(self, what: Any, steps: int = 7) -> None:
        """Moves the pointer to the middle of something."""
        at = what.bounding_box()
        x, y = self.at
        end = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        for step in range(1, steps + 1):
            part = (step / steps) ** 2 * (3 - 2 * step / steps)  # slow, fast, slow
            self.page.mouse.move(x + (end[0] - x) * part, y + (end[1] - y) * part)
            self.hold(50)
        self.at = end

    def click(self, what: Any, times: int = 1) -> None:
        """Goes to something and clicks it."""
        self.to(what)
        for number in range(1, times + 1):
            self.page.mouse.down(click_count=number)
            if number == times:
                self.hold(160)
            self.page.mouse.up(click_count=number)
        answered(self.page)

    def press(self, key: str) -> None:
        """Presses a key."""
        self.page.keyboard.press(key)
        answered(self.page)

    def write(self, path: Path) -> None:
        """Writes the film, which goes round for ever; too large a file is an error."""
        first, *rest = self.frames
        about: dict[str, Any] = {"duration": self.milliseconds, "loop": 0, "method": 4, "minimize_size": True}
        first.save(path, format="WEBP", save_all=True, append_images=rest, quality=82, allow_mixed=True, **about)
        if (size := path.stat().st_size) >= LIMIT:
            raise SystemExit(f"{path} has {size:,} bytes, which must be less than {LIMIT:,}")


def filmed(page: Any, server: Server) -> Film:
    """Opens a trained model, marks the part to keep, trains a new head on it; returns the film of it."""
    notebook = open_notebook(page, server, CELLS, "surgery.ipynb", run=False)
    notebook.run(IMPORTS + BUILD)
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    page.evaluate(OVERLAY)
    film = Film(page)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
    film.say("Open a trained model that Keras 3 does not load")
    film.click(page.locator(".jp-CodeCell").nth(1).locator(".jp-InputArea-editor"))
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".gs-pane-source .gs-box")
    page.locator(".gs-status").scroll_into_view_if_needed()
    fit(page)
    answered(page)
    film.hold(2000)
    film.say("Click and press  i:  the part to keep begins here")
    film.click(box(page, "image"))
    film.press("i")
    film.hold(1400)
    film.say("Click and press  o:  it ends here")
    film.click(box(page, "classifier/features/Max"))
    film.press("o")
    said(page, "Boundary: 1 in, 1 out")
    film.hold(2200)
    film.say("Make a Keras layer of it, and train a new head")
    page.mouse.move(*film.at)
    for number, result in ((2, "weights are kept"), (3, "% of new images are right")):
        cell = page.locator(".jp-CodeCell").nth(number)
        cell.scroll_into_view_if_needed()
        painted(page)
        film.hold(1600)
        film.click(cell.locator(".jp-InputArea-editor"))
        page.keyboard.press("Shift+Enter")
        cell.locator(".jp-OutputArea-output", has_text=result).wait_for()
        cell.scroll_into_view_if_needed()
        film.hold(2600)
    notebook.close()
    return film


def main(path: Path, frames: Path | None) -> None:
    """Starts JupyterLab and a browser, and makes the film."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        try:
            chromium = playwright.chromium.launch(executable_path=need("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport=SIZE, reduced_motion="reduce")
            page.set_default_timeout(60_000)
            film = filmed(page, server)
            chromium.close()
        finally:
            server.stop()
    if frames:
        frames.mkdir(parents=True, exist_ok=True)
        for number, frame in enumerate(film.frames):
            frame.save(frames / f"{number:03}.png")
    film.write(path)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(film.frames)} frames, {sum(film.milliseconds) / 1000:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?", default=ROOT / "docs" / "recording.webp")
    parser.add_argument("--frames", type=Path, help="keep each frame as a PNG in this folder")
    given = parser.parse_args()
    main(given.file, given.frames)
