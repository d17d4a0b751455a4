"""Resolves the steps of a plan."""
