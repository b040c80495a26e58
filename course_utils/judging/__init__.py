"""From an answer to its result: `calls` runs it, `judge` reads and compares the replies.

What belongs here: an exercise as data, plain replies. Not: a chapter, a notebook, or anything else of the course.
"""
