"""From a bare Python to running tools: a file for each command, and the environment that they need.

What belongs here: reading arguments and starting the work, with the standard library alone until the environment
exists. Not: the work itself.
"""

import sys

# Reading a notebook loads jsonschema, which compiles a grammar of international addresses: 1.4 s a process.
# Without the grammar it leaves them unchecked, and no notebook has one.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
