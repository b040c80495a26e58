"""Folders that people really have: with names that programs stumble over."""

import os

KURS = "Kurs Ä 🎓 (2)/attention course"
# name of a test: of a folder. All can be made on Linux; a colon parts a list of folders, and so does a line
ODD = {
    "a space and more": KURS,
    "quotes": 'it\'s "mine"',
    "a line": "two\nlines",
    "what /proc writes for a space": "a\\040b",
    "a colon": "a:b;c",
    "signs of shells": "$HOME %PATH% #1 *?[a] ~",
    "a dash": "-rf",
    "no letters of UTF-8": os.fsdecode(b"caf\xe9"),
    "a long name": "/".join(["long" * 50] * 10),
}


def odd_place(folder, name):
    """A new folder of this name in another."""
    place = folder / name
    place.mkdir(parents=True)
    return place
