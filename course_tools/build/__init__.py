"""From the chapters' sources to the notebooks that people open, and the links that lead to them.

What may come in: what makes or stores a notebook. Not: what a learner's notebook calls when it runs.
"""
