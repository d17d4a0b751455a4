"""The commands of a screen, by subject."""
