"""The widget: its state and commands as plain Python, its protocol, and the page."""
