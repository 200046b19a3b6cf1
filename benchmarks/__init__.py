"""Side-by-side measurements, printed as ratios: `python -m benchmarks` runs them all."""
