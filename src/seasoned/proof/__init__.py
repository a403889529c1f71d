"""Proof that lessons help: decided before they are used, and monitored in use.

Here `gate` decides whether a set of lessons is promoted, and `certificate` is the file that anyone can check, with its
state today. `effect` monitors lessons in production, `probe` estimates the effect of each lesson, and `record` checks
lessons against recorded attempts. Always holds: no decision calls a model, or relies on a large-sample
approximation.
"""
