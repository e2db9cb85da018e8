"""Random programs: well-typed ones whose results a model in plain Python knows, and broken ones that must be refused.

    python -m programs --programs 10000 --seed 1 --jobs 2       (in tests/python, with the package on PYTHONPATH)

`rows.py` is the table of operations; `model.py` runs the source text of a program with the meanings of that table;
`generate.py` writes programs from it; `check.py` compares backends with the model; `shrink.py` makes a failing program
small; `broken.py` breaks programs; `coverage.py` says what was reached.
"""
