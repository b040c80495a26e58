"""What the chapters import, and the tools that make, run, check and grade them. Importing it loads nothing heavy.

The rooms, from the ground up; each may import the ones above it here, and none below (a test reads this list):

    repository, files: where everything lies, and how it is written
    validation, randomness, influence: what layers refuse; masks for every machine; what depends on what
    attention, encoder, families, pretrained, training_bar: what chapters build, what they run it with and hold it to
    pictures, layer_drawing, live: figures
    judging: the calls put to an answer, and what is said of its replies
    grading.sandbox.inside: where a stranger's code runs
    exercises, checking: the exercises, and what a learner calls
    authoring, site: from sources to notebooks, and to pages
    grading.platforms, grading.sandbox, grading: the same judging for a class
    launch, __main__: the commands

For others to import are the rooms with a list of names, `__all__`, and these names alone. The rest may change.
"""
