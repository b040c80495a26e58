"""Why an answer is wrong, found by following and changing the answer itself. A verdict never depends on it.

What belongs here: the program of an answer, its values, changes to it. Not: a chapter, or points.
"""
