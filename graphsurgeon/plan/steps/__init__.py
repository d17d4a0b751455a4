"""The steps of plans. Each kind is one class, except for a copy, whose request is a class of its result."""
