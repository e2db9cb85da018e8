"""Random programs: well-typed ones whose results a model in plain Python knows, and broken ones that must be refused.

    python -m programs --programs 10000 --seed 1 --jobs 2       (in tests/python, with the package on PYTHONPATH)

What programs are made of   `rows.py` the table of operations, `memory.py` that of fields, `specs.py` types and annotations
What they mean              `model.py`, `expressions.py`, `places.py`, `values.py`, `scalars.py`: they run the source text
                            with the meanings of the tables; `fast.py`: what fast_math cannot change
How they are written        `whole.py`, `compound.py`, `statements.py`, `generate.py`, `names.py`
What is done with them      `inputs.py` gives them arguments, `check.py` compares backends with the model, `shrink.py` makes a
                            failing program small, `coverage.py` says what was reached
Broken ones                 `broken.py`, with the bad lines and functions of `bad.py`
Many                        `campaign.py`

Draws are no part of the model: what programs with `qd.random` give is compared between backends and settings.
"""
