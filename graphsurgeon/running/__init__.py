"""Running graphs: traces, feeds, and checks for a target."""
