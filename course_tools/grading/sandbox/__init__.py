"""Where strangers' code runs: each exercise in a process of its own that can read Python and its packages, no more.

    with Sandbox() as sandbox:
        outcome = sandbox.run(cells, "my_causal_weights", exercise.calls, chapter=3)

On the grader's side are `sandbox` (Sandbox), `protection` (which one this machine offers), `leftover_processes` (ends
what is left running where there is none), `allowed_imports` (the course's package as answers may import it) and
`fork_client` (asks for processes that have torch loaded). What runs behind the wall is in `inside`.

What may come in: starting, feeding and ending that process. Not: an exercise, or an expected value.
"""
