"""The state and the verbs of the widget in a plain object."""
