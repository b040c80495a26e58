"""From the stored notebooks to pages that are read without Jupyter. Nothing is run for them.

What belongs here: what turns cells, exercises, the ledger and the glossary into Sphinx's sources. Not: a chapter's own
words, or a list of its cells: what a cell is shows in its name, its tags and its code.
"""
