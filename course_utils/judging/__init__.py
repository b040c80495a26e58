"""From an answer to what is said of it: `calls` puts questions to it, `judge` reads the replies and compares.

What may come in: an exercise as data, plain replies. Not: a chapter, a notebook, or anything else of the course.
"""
