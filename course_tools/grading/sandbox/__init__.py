"""Where strangers' code runs: each submission in its own processes, which can read only Python and its packages.

    with Sandbox() as sandbox:
        outcome = sandbox.run(cells, "my_causal_weights", exercise.calls, chapter=3)

On the grader's side are `sandbox` (Sandbox), `protection` (what this machine offers), `leftover_processes` (ends
processes left behind without protection), `allowed_imports` (the course's package as answers may import it) and
`fork_client` (asks for processes that have torch loaded). Isolated code is in `inside`.

What belongs here: starting, feeding and ending that process. Not: an exercise, or an expected value.
"""
