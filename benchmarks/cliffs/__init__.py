"""Sixty objectives as others write them, who did not know this project: what a gradient costs of each.

`learning.py` and `science.py` were written before any ratio was looked at, by people who knew Python, NumPy
and SciPy only. They stay as they are: what is slow here is slow elsewhere.
"""
