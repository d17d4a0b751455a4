"""The Jupyter widget: its protocol, the class that speaks it, and the page's source."""
