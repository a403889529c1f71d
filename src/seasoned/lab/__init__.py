"""The laboratory: benchmarks, experiments and their reports, for a researcher who wants a figure that holds.

Always holds: the product never imports it; it comes in by the entry points that `seasoned.plugins` lists.
"""
