"""From the chapters' sources to the notebooks that people open.

What belongs here: code that makes or stores a notebook. Not: code that a learner's notebook calls.
"""
