"""The isolated code: `server` forks a child per exercise; `answering` runs one exercise.

`isolation` and `system_calls` confine it. `fork_server` loads torch once and forks the servers and their users.

What belongs here: from the course, `judging`'s calls and what they need. Not: anything that knows an expected value.
"""
