"""What chapters import: the layers they build, figures, and the checking of exercises. Importing it loads nothing big.

The rooms, from the ground up; each may import those listed before it and none listed after it (a test reads this list):

    files: writing files atomically
    validation, randomness, influence: input that layers refuse; the same masks on every machine; what depends on what
    attention, language_model, families: what chapters build, and numbers to compare it with
    training_bar, pretrained: training and downloads, with a progress bar
    pictures, layer_drawing, live: still figures, the drawing that grows, live figures
    judging: the calls of an answer, and the verdict on its replies
    explaining: why an answer is wrong, found in the answer itself; no verdict depends on it
    quizzing: questions about an answer's own code, with keys found by running it
    exercises, checking: the exercises as data, and the commands that a learner calls
    play: puzzles as figures, judged on the page

Other projects may import from the rooms that list names in `__all__`, and only these names; all others may change. The
commands of instructors and maintainers are in `course_tools`, which nothing here imports.
"""
