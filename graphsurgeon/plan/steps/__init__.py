"""The steps of plans: each kind is one class. The families import `base`, `edge_checks` and families below them."""
