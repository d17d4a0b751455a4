"""Evolve: genetic programming, which improves graphs by copying parts of one graph into another."""

from .candidate import Candidate, candidate, crossover
from .evolution import Evolution, Generation, evolve

__all__ = ["Candidate", "Evolution", "Generation", "candidate", "crossover", "evolve"]
