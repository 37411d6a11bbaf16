"""A run: cases, cells, timings and skip ratios to executors, results to a bundle."""
