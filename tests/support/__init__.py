"""What several test files share."""

import course_tools.commands  # noqa: F401  before anything reads a notebook: see there
