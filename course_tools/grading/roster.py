"""The instructor's list of people: roster.csv, beside the downloads, lists each person's numbers and logins.

Grading only reads it. An id identifies its person. A name does so only if the roster has no id of that kind for the
person, since students choose their own names.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from course_tools.grading.assignment import table_rows
from course_tools.grading.platforms import PLATFORMS
from course_tools.grading.platforms.gradebook import Gradebook, normalized, normalized_name
from course_tools.grading.submitted_files import shortened

ROSTER_FILE = "roster.csv"
INSTITUTION = ""  # the source of student numbers, logins and e-mail addresses, which Gradescope also uses
NUMBERING = {platform.name: platform for platform in PLATFORMS if isinstance(platform, Gradebook)}
COLUMNS = ("name", *(platform.name.casefold() for platform in PLATFORMS), "login")
SEPARATORS = re.compile("[;,]")  # between several ids of a field


@dataclass(frozen=True)
class Person:
    """A row of the roster. accounts: (platform, id), as in Student."""

    name: str
    accounts: tuple[tuple[str, str], ...] = ()

    def has_account(self, platform):
        """Whether the roster has one of this platform's ids for the person."""
        return any(own == platform for own, _ in self.accounts)


@dataclass(frozen=True)
class Roster:
    """people: in the order of the rows. by_account: {an account, as `account_key` has it: the Person}."""

    people: list[Person] = field(default_factory=list)
    by_account: dict[tuple[str, str], Person] = field(default_factory=dict)

    def people_of(self, owners):
        """{Owner: Person} of all whom the roster identifies.

        Files of several owners are joined only if each owner has one number, or the institution's ids. An owner with
        only a name, or with several numbers, some of which the student may have chosen, could be somebody else.
        """
        found = {owner: person for owner in owners if is_certain(owner) and (person := self.by_id(owner))}
        claims = {}
        for owner in owners:
            if owner not in found and (person := self.by_id(owner) or self.by_name(owner)):
                claims.setdefault(person, []).append(owner)
        taken = set(found.values())
        return found | {own[0]: person for person, own in claims.items() if len(own) == 1 and person not in taken}

    def by_id(self, owner):
        """The one Person who has an id of an Owner, or None. A folder's name may be a login."""
        ids = owner.ids or (owner.name,)
        found = {self.by_account.get(account_key(owner.numbered_by, id)) for id in ids} - {None}
        return found.pop() if len(found) == 1 else None

    def by_name(self, owner):
        """The one Person with an Owner's name; None also if the roster has another id of that kind for them."""
        wanted = normalized_name(owner.name)
        named = [person for person in self.people if normalized_name(person.name) == wanted]
        if len(named) != 1 or owner.ids and named[0].has_account(owner.numbered_by):
            return None
        return named[0]


def is_certain(owner):
    """Whether all ids of an Owner are the student's."""
    return owner.numbered_by == INSTITUTION or len(owner.ids) == 1


def account_key(platform, id):
    """The key by which ids of a platform, or of the institution, are compared."""
    return platform, NUMBERING[platform].own_id_key(id) if platform in NUMBERING else normalized(id)


def read_roster(downloads: Path):
    """The Roster beside the downloads, or an empty one. Ends the program if it makes no sense."""
    path = downloads.absolute().parent / ROSTER_FILE
    found = Roster()
    for line, fields in table_rows(path, COLUMNS):
        person = Person(shortened(" ".join(fields["name"].split())), tuple(accounts_in(fields)))
        if not person.name:
            sys.exit(f"{path}, row {line}: it needs a name.")
        if person in found.people:
            sys.exit(f"{path}, row {line}: {person.name} occurs twice; add an id to distinguish two people.")
        for account in person.accounts:
            other = found.by_account.setdefault(account_key(*account), person)
            if other is not person:
                sys.exit(
                    f"{path}, row {line}: {account[1]} is already an id of {other.name}; two people cannot share it."
                )
        found.people.append(person)
    return found


def accounts_in(fields):
    """The (platform, id) in a row, {column: text}."""
    of_column = {name.casefold(): name for name in NUMBERING}
    for column in COLUMNS[1:]:
        for id in SEPARATORS.split(fields[column]):
            if id.strip():
                yield of_column.get(column, INSTITUTION), id.strip()
