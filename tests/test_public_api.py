"""The public surface: a change of a name or signature is seen, and is meant."""

from __future__ import annotations

from tools.write_api import FILE, public_api


def test_the_public_surface_is_what_was_reviewed():
    assert public_api() == FILE.read_text(), "run tools/write_api.py and review the difference"
