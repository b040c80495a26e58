"""An error in a learner's code, as one line that points into their code, not ours."""

import linecache
import traceback
import types

LONGEST = 160  # characters of an error's own message
LONGEST_SENTENCE = 1000  # characters of all that is said about an answer


def describe(error, answer):
    """{"type", "message", "line", "code"}: the last line of the learner's own code that the error went through."""
    files = {function.__code__.co_filename for function in functions(answer)}
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = next((place for place in reversed(places) if place[0] in files), ("", 0))
    # Python 3.13 and newer use this name for code after `python -c`
    code = "" if file == "<string>" else linecache.getline(file, line).strip()
    words = "the function calls itself endlessly" if isinstance(error, RecursionError) else first_line(error)
    return {"type": type(error).__name__[:LONGEST], "message": words[:LONGEST], "line": line, "code": code[:LONGEST]}


def first_line(error):
    """The first line of an error's own message; "" where it cannot be had."""
    try:
        if isinstance(error, (NameError, AttributeError)):  # Python knows which name may have been meant
            (words,) = traceback.TracebackException.from_exception(error).format_exception_only()
            return words.strip().partition(": ")[2]
        return (str(error).strip().splitlines() or [""])[0]
    except BaseException:  # the class of the error, and so its message, may be the learner's code, too
        return ""


def presentable(sentence):
    """A sentence that may quote a stranger, made safe for every file and terminal."""
    return sentence[:LONGEST_SENTENCE].encode(errors="replace").decode()  # half a surrogate pair is no UTF-8


def sentence(opening, error):
    """An error as `describe` gives it, as one line for the learner."""
    code = f", `{error.code}`" if error.code else ""  # a function made by exec has none to show
    where = f" in line {error.line}{code}" if error.line else ""
    return f"{opening}{where}: {error.type}: {error.message}"


def functions(answer):
    """A function itself, or the methods of a class."""
    found = vars(answer).values() if isinstance(answer, type) else [answer]
    return [function for function in found if isinstance(function, types.FunctionType)]
