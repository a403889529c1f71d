"""Every reader of a model's reply: commands, calls, turns, rankings, operations, heuristics and reflections.

Always holds: any text is read, none raises, and the time taken grows linearly with its length.
"""
