"""What runs behind the wall: `server` loads torch once and forks a child per exercise; `answering` runs one exercise.

`isolation` and `system_calls` hold it there. Nothing here may know an expected value: of the course, only `judging`'s
calls and what they need may come in.
"""
