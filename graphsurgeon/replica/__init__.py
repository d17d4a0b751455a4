"""Replica: duplicates of graphs that follow their originals, and clusters on this machine to try them in."""

from .cluster import LocalCluster, local_cluster
from .duplicate import duplicate
from .replica import Replica, Update

__all__ = ["LocalCluster", "Replica", "Update", "duplicate", "local_cluster"]
