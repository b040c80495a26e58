"""The commands for instructors and maintainers, in a clone: python3 -m course_tools COMMAND. Not part of the wheel.

The rooms, from the ground up; each may import those listed before it and none listed after it, and anything in
`course_utils` (a test reads this list):

    repository, names_on_disk, links, first_figure: where things are, their names and addresses, the first figure
    supported_pythons, locked_packages, environment: supported Pythons, what pip installs, a Python with all packages
    build, site: from sources to notebooks, and to web pages
    grading.sandbox.inside: where a stranger's code runs
    grading.platforms, grading.sandbox, grading: the judging of `course_utils`, for a whole class
    commands, __main__: the commands
"""
