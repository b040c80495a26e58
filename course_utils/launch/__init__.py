"""From a bare Python to running tools: a file for each command, and the environment that they need.

What may come in: the standard library, and the rest only once the environment is there. Not: the work itself.
"""
