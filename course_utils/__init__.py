"""Helpers for the course on attention. Importing this package loads nothing heavy."""
