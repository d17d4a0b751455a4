"""Makes the labelled picture of the screen guide in a real JupyterLab: python tools/write_screenshot.py FILE.

It needs JupyterLab, playwright and Chromium. Look at the picture that it has made.
"""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont, ImageOps
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.hands import IMPORTS, answered, fit, painted  # noqa: E402
from tests.lab import Server, open_notebook  # noqa: E402
from tests.needs import need  # noqa: E402

#: Writes the file that the shown cells open: an image classifier of two residual blocks.
BUILD = """
tf1 = tf.compat.v1
def conv(x, name, to, stride=1):
    with tf1.variable_scope(name):
        w = tf1.get_variable("w", [3, 3, x.shape[-1], to])
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, stride, "SAME"), tf1.get_variable("b", [to])))
with tf.Graph().as_default() as graph:
    images = tf1.placeholder(tf.float32, [None, 64, 64, 3], name="images")
    x = conv(images, "stem", 16, 2)
    with tf1.variable_scope("block1"):
        x = tf.add(x, conv(conv(x, "conv1", 16), "conv2", 16), name="sum")
    with tf1.variable_scope("block2"):
        x = tf.add(conv(x, "shortcut", 32, 2), conv(conv(x, "conv1", 32, 2), "conv2", 32), name="sum")
    with tf1.variable_scope("head"):
        x = tf.reduce_mean(x, [1, 2], name="pool")
        tf.nn.softmax(tf.matmul(x, tf1.get_variable("w", [32, 10])), name="classes")
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, "resnet")
"""
#: Steps of the screen; the page shows their results.
MARKED = """
screen = ed.screen
for scope in ("block1/", "block2/"):
    screen.unfold(scope)
screen.mark_input("block1/sum:0")
screen.mark_output("block2/sum:0")
screen.copy("copy")
screen.select(["block2/sum"])
"""
CELLS = ["import graphsurgeon as gs", "ed = gs.open('resnet.meta')\ned"]
#: The parts of the screen, in the order of their numbers in docs/guides/screen.md.
PARTS = [
    ".gs-top button", ".gs-tools", ".gs-recipes", ".gs-run-button", ".gs-search", ".gs-top-end > .gs-icon-only",
    ".gs-pane-tabs", ".gs-changes",
    ".gs-pane-source", ".gs-pane-destination", ".gs-inspector", ".gs-summary", ".gs-copying", ".gs-tabs", ".gs-doing",
    ".gs-status-text", ".gs-legend",
]  # fmt: skip
SCALE = 1.25  # pixels of the picture for a pixel of the page
MARGIN = 34  # pixels of white around the picture, for numbers at its edge


def taken(page: Any, server: Server, path: Path) -> None:
    """Marks the second block on screen, plans a copy of it, takes the picture, and numbers its parts."""
    notebook = open_notebook(page, server, CELLS, "surgery.ipynb", run=False)
    notebook.run(IMPORTS + BUILD)
    notebook.run_all()
    page.wait_for_selector(".gs-pane-source .gs-box")
    notebook.run(MARKED)
    page.wait_for_selector(".gs-pane-destination [data-name^='copy/']")
    fit(page)
    answered(page)
    painted(page)
    whole = page.locator(".gs").first
    whole.scroll_into_view_if_needed()
    frame, places = whole.bounding_box(), [page.locator(part).first.bounding_box() for part in PARTS]
    numbered(whole.screenshot(), frame, places).save(path, optimize=True)
    notebook.close()


def numbered(picture: bytes, frame: dict[str, float], places: list[dict[str, float]]) -> Image.Image:
    """Returns a picture with a number at the upper left corner of each place.

    Args:
        picture: a PNG of the frame.
        frame: the place of the picture on the page.
        places: the numbered places on the page, from 1.
    """
    image = ImageOps.expand(Image.open(BytesIO(picture)).convert("RGB"), MARGIN, "white")
    draw, font, radius = ImageDraw.Draw(image), ImageFont.load_default(19), 14
    for number, place in enumerate(places, 1):
        x = MARGIN + (place["x"] - frame["x"] - 14) * SCALE  # left of the first letter
        y = MARGIN + (place["y"] - frame["y"] + 3) * SCALE
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill="#c4122f", outline="white", width=2)
        draw.text((x, y), str(number), fill="white", font=font, anchor="mm")
    return image.quantize(128)


def main(path: Path) -> None:
    """Starts JupyterLab and a browser, and takes the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        try:
            chromium = playwright.chromium.launch(executable_path=need("chromium"), args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1700, "height": 1050}, device_scale_factor=SCALE)
            page.set_default_timeout(120_000)
            taken(page, server, path)
            chromium.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screen.png")
