"""The commands of a screen, in the order of the documentation; importing them fills `specs.COMMAND_SPECS`."""

from . import navigation, appearance, runs, boundary, plan, copies, edits, steps, recipes, save, undo  # noqa: F401  # isort: skip
