"""Readers of a model's reply: commands, calls, turns, programs, rankings, operations, heuristics and reflections.

Always holds: a reader takes any text and never raises, and its time grows linearly with the text's length.
"""
