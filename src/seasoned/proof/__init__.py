"""Proof: whether lessons help, decided before they are used and watched while they are.

`gate` decides whether a set of lessons is promoted, `certificate` is the file that anybody can check, `effect` and
`retire` watch lessons in production, `probe` estimates what each lesson does. Always holds: nothing here calls a
model, and no decision rests on an approximation for large samples.
"""
