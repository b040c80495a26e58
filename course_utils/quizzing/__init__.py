"""Questions about a learner's own code. Every key is computed by running the answer, unchanged and with changes.

What belongs here: questions that hold for any answer, right or wrong. Not: an expected value, a verdict, a platform.
More kinds, which only the grader asks, are in course_tools/grading/more_questions.py.
"""
