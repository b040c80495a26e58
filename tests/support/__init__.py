"""What several test files share."""

import course_utils.launch  # noqa: F401  before anything reads a notebook: see there
