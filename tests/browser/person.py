"""A person at the screen, with a mouse alone or a keyboard alone: what the hand does is done, counted and pictured.

A gesture is one click, one drag, one key press, or one text entered with the Enter that ends it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.browser.hands import answered, box, painted, shot


class Person:
    """Somebody at the widget of a page.

    Args:
        page: the Playwright page.
        task: what screenshots are called.

    Attributes:
        gestures: what was done so far, one entry each.
    """

    def __init__(self, page: Any, task: str) -> None:
        self.page, self.task, self.gestures = page, task, list[str]()
        shot(page, f"{task}-0")

    def click(self, what: Any, button: str = "left") -> None:
        """Clicks a box by its name, or anything else on the page."""
        found, said = what, what
        if isinstance(what, str):
            found = box(self.page, what)
            if found.locator(".gs-heading").count():  # what is open is clicked at its name
                found = found.locator(".gs-heading")
        else:
            said = what.first.get_attribute("aria-label") or what.first.inner_text().split("\n")[0]
        found.click(button=button)
        self._did(f"{button if button == 'right' else 'click'} {said}".replace("right", "right click"))

    def wire(self, name: str, to: str, pane: str = "source") -> None:
        """Drags from the output port of a box, which shows when the pointer is on the box, to another."""
        end, port = box(self.page, to, pane), self.page.locator(f".gs-pane-{pane} .gs-port-out").first
        self._over(box(self.page, name, pane))
        self._over(port)
        self.page.mouse.down()
        self._over(end)
        answered(self.page)
        painted(self.page)
        shot(self.page, f"{self.task}-{len(self.gestures)}-dragged")
        self.page.mouse.up()
        self._did(f"drag from the port of {name} to {to}")

    def _over(self, what: Any) -> None:
        """Moves the pointer to the middle of something, in a few steps."""
        at = what.bounding_box()
        self.page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2, steps=4)

    def press(self, key: str) -> None:
        """Presses a key."""
        self.page.keyboard.press(key)
        self._did(f"press {key}")

    def type(self, text: str) -> None:
        """Types a text where the keyboard is, and leaves it open what comes then."""
        self.page.keyboard.type(text)
        self._did(f"type {text!r}")

    def enter(self, text: str) -> None:
        """Types a text where the keyboard is, and Enter."""
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")
        self._did(f"enter {text!r}")

    def button(self, name: str) -> Any:
        """A button of the widget."""
        return self.page.locator(".gs").get_by_role("button", name=name, exact=True)

    def item(self, name: str) -> Any:
        """An item of the menu that is open."""
        return self.page.locator(".gs-menu").get_by_role("menuitem", name=name)

    def recorded(self) -> Path | None:
        """Makes a short recording of the screenshots, each gesture named, where GRAPHSURGEON_SHOTS names a folder."""
        if not (folder := os.environ.get("GRAPHSURGEON_SHOTS")):
            return None
        from PIL import Image, ImageDraw, ImageFont

        font, frames = ImageFont.load_default(24), []
        for number, gesture in enumerate(["", *self.gestures]):
            frame = Image.open(Path(folder) / f"{self.task}-{number}.png").convert("RGB")
            said = f"{number}. {gesture}" if gesture else self.task.replace("-", " ")
            draw = ImageDraw.Draw(frame)
            wide, at = draw.textlength(said, font), (frame.width / 2, 26)
            draw.rounded_rectangle((at[0] - wide / 2 - 20, 6, at[0] + wide / 2 + 20, 46), 20, "#111")
            draw.text(at, said, "#fff", font, "mm")
            frames.append(frame)
        film = Path(folder) / f"{self.task}.webp"
        about: dict[str, Any] = {"duration": 1500, "loop": 0, "quality": 80, "append_images": frames[1:]}
        frames[0].save(film, "WEBP", save_all=True, **about)
        return film

    def _did(self, what: str) -> None:
        self.gestures.append(what)
        answered(self.page)
        painted(self.page)
        shot(self.page, f"{self.task}-{len(self.gestures)}")
