"""What runs behind the wall: `server` loads torch once and forks a child per exercise; `answering` runs one exercise.

`isolation` and `system_calls` hold it there.

What may come in: of the course, `judging`'s calls and what they need. Not: anything that knows an expected value.
"""
