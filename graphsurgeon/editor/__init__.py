"""The editor: opening graphs, history, values, files, and operations on several graphs."""
