"""The kinds of steps: each is a class in one place."""
