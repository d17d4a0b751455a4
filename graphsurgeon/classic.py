"""The recursive copier of 2016: same names, same argument order, same meaning, on today's engine."""

from __future__ import annotations

from typing import Any


def copy_variable_to_graph(
    org_instance: Any, to_graph: Any, namespace: str, copied_variables: dict[str, Any] | None = None
) -> Any:
    """todo"""


def copy_to_graph(org_instance: Any, to_graph: Any, copied_variables: Any = None, namespace: str = "") -> Any:
    """todo"""


def get_copied(original: Any, graph: Any, copied_variables: Any = None, namespace: str = "") -> Any:
    """todo"""
