"""What the widget shows and does, as a plain object."""
