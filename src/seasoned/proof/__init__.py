"""Proof that lessons help: decided before they are used, and monitored in use.

`gate` decides whether a set of lessons is promoted, `certificate` is the file that anyone can check, `effect` and
`retire` monitor lessons in production, `probe` estimates the effect of each lesson. Always holds: nothing here calls a
model, and no decision relies on a large-sample approximation.
"""
