"""Questions about a learner's own code. Every key is computed: by running the answer, and by running it with changes.

What may come in: questions that hold for any answer, right or wrong. Not: an expected value, a verdict, a platform.
Words on the kinds of questions stand in `kinds.toml`. A new kind is a function in `kinds.py` and its entry there.
"""
