"""Evolve: genetic programming: graphs that get better, by copying parts of one into another."""

from .candidate import Candidate, candidate, crossover
from .evolution import Evolution, Generation, evolve

__all__ = ["Candidate", "Evolution", "Generation", "candidate", "crossover", "evolve"]
