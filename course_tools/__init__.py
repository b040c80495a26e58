"""What instructors and maintainers run, from a clone: python3 -m course_tools COMMAND. It is not part of the wheel.

The rooms, from the ground up; each may import those named before it and none named after it, and anything in
`course_utils` (a test reads this list):

    repository, links, environment: where things are; the addresses of notebooks; a Python with all packages
    build, site: from sources to notebooks, and to web pages
    grading.sandbox.inside: where a stranger's code runs
    grading.platforms, grading.sandbox, grading: the judging of `course_utils` for a whole class
    commands, __main__: the commands
"""
