"""What chapters import: the layers they build, figures, and the checking of exercises. Importing it loads nothing big.

The rooms, from the ground up; each may import those named before it and none named after it (a test reads this list):

    files: writing a file whole
    validation, randomness, influence: what layers refuse; masks for every machine; what depends on what
    attention, encoder, language_model, weights_file, families: what chapters build, and what they compare it with
    training_bar, pretrained: what takes seconds, below a bar: training, and downloads
    pictures, layer_drawing, live: figures: still ones, the drawing that grows, those that move in the page
    judging: the calls put to an answer, and the verdict on its replies
    explaining: why an answer is wrong, found in the answer itself; no verdict depends on it
    quizzing: questions about an answer's own code, whose keys are found by running it
    exercises, checking: the exercises as data, and the commands that a learner calls
    play: puzzles as figures, judged in the page

Other projects may import the rooms that list names in `__all__`, and only these names. The rest may change. What
instructors and maintainers run is in `course_tools`; nothing here imports it.
"""
