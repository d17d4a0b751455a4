"""Evolve: genetic programming: graphs that get better, by copying parts of one into another."""

from .candidate import Candidate, candidate
from .evolution import Evolution, Generation, evolve
from .variation import crossover

__all__ = ["Candidate", "Evolution", "Generation", "candidate", "crossover", "evolve"]
