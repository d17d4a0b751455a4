"""What the package promises, measured against its peers in one run: python -m benchmarks."""
