"""The site, built from the stored notebooks and opened from disk in Chromium, with no network."""

import gzip
import html
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe

import course_utils
from course_tools import repository
from course_tools.site import dropdowns, glossary, ledger_page, teaching_page
from course_tools.site.build import build
from course_utils.exercises import EXERCISES, QUESTIONS
from tests.support import browser, stored
from tests.support.ledger import PAPERS, PUBLISHED, VALUES
from tests.support.page import CHOSEN, LIVE, by_keyboard, by_mouse, controls

LEARNERS = {path.stem: stored.read(path) for path in stored.LEARNERS}
WORDS = {topic: stored.prose(notebook) for topic, notebook in LEARNERS.items()}
NAMES = ["index", *LEARNERS, "ways", "glossary", "ledger", "api", "search"]


def pages(*once):
    """All pages as parameters of a test: those named here always, two more with --all, the rest in the matrix."""
    marks = dict.fromkeys(NAMES, pytest.mark.in_matrix("every page of the site"))
    marks |= dict.fromkeys(["05_multi_head_attention", "glossary"], pytest.mark.every_setting("two more pages"))
    marks |= dict.fromkeys(once, ())
    return [pytest.param(name, id=name, marks=marks[name]) for name in NAMES]


PAGES = pages("index", "03_hiding_the_future")
LARGEST = 2_000_000  # bytes of a chapter, beside what all pages share
WIDTHS = [360, 820, 1440]
# What is left of a page is enough for axe's rules of colours, which take it longest: one text of each look, and what it
# stands in. A look is all that contrast depends on: colours, pictures behind, size and weight, here and further out.
KEEP_ONE_OF_EACH_LOOK = """() => {
  const looks = new Map(), seen = new Set();
  const ofItself = element => {
    const style = getComputedStyle(element);
    return [style.color, style.backgroundColor, style.backgroundImage, style.opacity, style.fontSize, style.fontWeight,
      style.textDecorationLine].join();
  };
  const look = element => {
    if (!looks.has(element)) looks.set(element,
      element === document.body ? ofItself(element) : look(element.parentElement) + "/" + ofItself(element));
    return looks.get(element);
  };
  const hasText = element => element.matches("input, select")
    || [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
  for (const element of document.body.querySelectorAll("*")) {
    if (!hasText(element) || !element.checkVisibility() || seen.has(look(element))) continue;
    seen.add(look(element));
    for (let one = element; one; one = one.parentElement) one.dataset.kept = "";
  }
}"""
DROP_ALL_OTHERS = "() => document.body.querySelectorAll(':not([data-kept])').forEach(other => other.remove())"
OF_COLOURS = ["color-contrast", "link-in-text-block"]
THEMES = ["light", "dark"]


class Parts(HTMLParser):
    """What a page links to, loads and can be linked to, and its pictures without words."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.silent = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.ids.add(named.get("id"))
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in ("script", "link", "img", "iframe") and (found := named.get("src") or named.get("href")):
            self.loads.append(found)
        if tag == "img" and not (named.get("alt") or "").strip():
            self.silent.append(named.get("src", "")[:60])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site") / "made"
    subprocess.run([sys.executable, "-m", "course_tools", "site", str(folder)], cwd=repository.ROOT, check=True)
    return folder


@pytest.fixture(scope="session")
def parts(site):
    """{name of a page: Parts}, every chapter's among them."""
    made = {path.name: Parts(path.read_text(encoding="utf-8")) for path in sorted(site.glob("*.html"))}
    assert {f"{topic}.html" for topic in LEARNERS} <= made.keys()
    return made


@pytest.fixture
def shown(chromium, site):
    """A function that opens a page, and fails afterwards if anything was wanted from elsewhere."""
    context = chromium.new_context(reduced_motion="reduce")
    context.set_offline(True)
    opened, wanted = context.new_page(), []
    opened.on("request", lambda request: wanted.append(request.url))

    def open_page(name, width=1280):
        opened.set_viewport_size({"width": width, "height": 900})
        opened.goto((site / f"{name}.html").as_uri())
        return opened

    yield open_page
    context.close()
    assert wanted and [url for url in wanted if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit, match="is not a site"):
        build(tmp_path)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
@pytest.mark.in_matrix("a command that is ended")
def test_who_ends_the_command_finds_nothing_half_made(tmp_path):
    command = [sys.executable, "-m", "course_tools", "site", str(tmp_path / "made")]
    with subprocess.Popen(command, cwd=repository.ROOT, stderr=subprocess.PIPE, encoding="utf-8") as building:
        while not list(tmp_path.glob(".site-*/doctrees/*")):
            assert building.poll() is None
            time.sleep(0.05)
        building.terminate()
        assert building.communicate()[1] == "Stopped. The site was not built.\n"
    assert list(tmp_path.iterdir()) == []


# --- what is on the pages ---------------------------------------------------------------------------------------------


@pytest.mark.every_setting("every link of the site")
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site, parts):
    for name, found in parts.items():
        assert [url for url in found.loads if re.match(r"(https?:)?//", url)] == [], name
        for link in {*found.links, *found.loads}:
            target, anchor = urldefrag(unquote(link))
            target = target.partition("?")[0]
            if re.match(r"\w+:", link):
                continue
            assert not target or (site / target).is_file(), f"{name} leads to {link}"
            assert not anchor or anchor in parts[target or name].ids, f"{name} leads to {link}"


def test_every_page_can_be_reached_from_the_first(parts):
    reached, waiting = set(), {"index.html"}
    while waiting:
        reached |= waiting
        waiting = {urldefrag(link)[0] for name in waiting for link in parts[name].links} & parts.keys() - reached
    others = {"ledger.html", "glossary.html", "ways.html", "teaching.html", "api.html"}
    assert {f"{topic}.html" for topic in LEARNERS} | others <= reached


def test_every_picture_has_its_words_and_no_chapter_is_too_large(site, parts):
    for topic, notebook in LEARNERS.items():
        assert parts[f"{topic}.html"].silent == []
        text = (site / f"{topic}.html").read_text(encoding="utf-8")
        alts = [alt for cell in stored.code_cells(notebook) for _, alt in stored.pictures(cell)]
        assert (alts or "notes" in topic) and all(alt.partition('"')[0] in text for alt in alts)
        pictures = {site / url for url in parts[f"{topic}.html"].loads if url.startswith("_images/")}
        assert len(text.encode()) + sum(path.stat().st_size for path in pictures) < LARGEST


def test_every_exercise_has_its_hints_and_a_worked_answer(parts):
    for exercise in EXERCISES.values():
        (ids,) = [parts[f"{topic}.html"].ids for topic in LEARNERS if int(topic[:2]) == exercise.chapter]
        assert {dropdowns.anchor("hint", exercise.id, number) for number in range(1, len(exercise.hints) + 1)} <= ids
        assert dropdowns.anchor("answer", exercise.id) in ids, exercise.id


def test_the_page_for_instructors_has_every_exercise_with_mistakes_and_a_question(site):
    text = (site / "teaching.html").read_text(encoding="utf-8")
    for exercise in EXERCISES.values():
        _, found, rest = text.partition(f"<strong>{exercise.id} {html.escape(exercise.title, quote=False)}</strong>")
        entry, _, _ = rest.partition("<strong>")
        assert found and "Mistakes: " in entry and "Ask: <em>" in entry, exercise.id
    assert "<s>" not in text, "a token of chapter 3 would strike out the rest of the page"
    assert all(f"<p>{plan}</p>" in text for plan in ("one week", "four weeks", "ten weeks"))


def own_functions(thing):
    """A function itself, or the methods that a class defines here."""
    found = vars(thing).values() if inspect.isclass(thing) else [thing]
    return [each for each in found if inspect.isfunction(each) and each.__module__.startswith("course_utils.")]


def test_the_page_on_what_can_be_imported_has_every_public_name_with_its_types_and_its_words(site):
    headed = re.split("<h[23]>", (site / "api.html").read_text(encoding="utf-8"))
    sections = [" ".join(html.unescape(re.sub("<[^>]*>", "", text)).split()) for text in headed]
    entries = {text.partition("#")[0]: text for text in sections}
    names = [file.name for file in pkgutil.iter_modules(course_utils.__path__, "course_utils.")]
    rooms = [room for room in map(importlib.import_module, names) if hasattr(room, "__all__")]
    assert "Attention" in entries and len(rooms) > 10
    for room in rooms:
        for thing in [room, *(getattr(room, name) for name in room.__all__)]:
            if hasattr(thing, "__name__"):
                entry = entries[thing.__name__]
                assert letters(inspect.getdoc(thing).partition("\n")[0]) in letters(entry), thing
                for function in own_functions(thing):
                    assert re.search(rf"def {function.__name__}\([^#]*?\) -> ", entry), function


def test_what_can_be_imported_leads_to_the_cell_that_builds_or_uses_it(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    found = dict(re.findall(r"<h3>(\w+)<(?:(?!<h3>).)*? in <a [^>]*#(chapter-[\w-]+)\"", text, re.DOTALL))
    assert {name: found[name] for name in ["Attention", "keep_mask_b", "show_dropout"]} == {
        "Attention": "chapter-9-attention-class",
        "keep_mask_b": "chapter-99-keep-mask-b",
        "show_dropout": "chapter-4-dropout-live",
    }
    assert "check_frequencies" not in found, "no chapter uses it"


def test_the_ledger_page_has_every_value_and_links_every_cell(parts, site):
    links = [link for link in parts["ledger.html"].links if "#chapter-" in link]
    assert len(links) == sum("cell" in value for value in VALUES) + len(PUBLISHED)
    rows = (site / "ledger.html").read_text(encoding="utf-8").count("<tr")
    assert rows == len(VALUES) + len({value["source"] for value in VALUES}) + len(PUBLISHED) + len(PAPERS)


def test_every_word_and_symbol_of_the_glossary_is_linked_from_a_chapter_and_back(parts):
    linked = {urldefrag(link)[1] for topic in LEARNERS for link in parts[f"{topic}.html"].links}
    for name in [name for group in glossary.entries() for name in group]:
        assert glossary.anchor(name) in linked, f"course_tools/site/source/glossary.toml: no chapter uses {name}"
    back = [link for link in parts["glossary.html"].links if "#chapter-" in link]
    assert len(back) == sum(map(len, glossary.entries()))


@pytest.mark.parametrize(
    "value, words",
    [
        ({"chapter": 3, "cell": "mask"}, "[chapter 3](#chapter-3-mask)"),
        ({"chapter": repository.NOTES, "cell": "mask"}, "[the notes](#chapter-99-mask)"),
        ({"chapter": 3}, "chapter 3"),
        ({"cannot": "a seed", "instead": "ours"}, "not shown: a seed; instead, ours"),
        (
            {"cannot": "a seed", "instead": "ours", "chapter": 3, "cell": "mask"},
            "not shown: a seed; instead, ours, [chapter 3](#chapter-3-mask)",
        ),
    ],
)
def test_the_ledger_page_says_where_a_value_is_or_why_it_is_not(value, words):
    assert ledger_page.cell_or_reason(value) == words


def test_a_long_value_is_cut_in_the_ledgers_table_and_breaks_no_row():
    assert ledger_page.value_row(7, {"text": "a |\n b", "chapter": 3}) == "| 7 | `a \\| b` | chapter 3 |"
    assert ledger_page.value_row(7, {"text": "x" * 61, "chapter": 3}) == f"| 7 | `{'x' * 60} …` | chapter 3 |"


def test_the_glossary_names_the_chapter_that_it_leads_to(site):
    text = (site / "glossary.html").read_text(encoding="utf-8")
    found = re.findall(r'href="(\d\d)_[^"]*#chapter-(\d+)-[^>]*>(?:<[^>]*>)*chapter (\d+)<', text)
    assert len(found) == sum(map(len, glossary.entries()))
    assert all(int(page) == int(chapter) == int(named) for page, chapter, named in found)


def test_every_formula_is_there_as_mathml_and_a_wide_one_can_be_scrolled_by_keys(site):
    for topic in LEARNERS:
        text = (site / f"{topic}.html").read_text(encoding="utf-8")
        alone = len(re.findall(r"\$\$.+?\$\$", WORDS[topic], re.DOTALL))
        assert text.count('<div class="formula" tabindex="0"><math') == alone == text.count('display="block"')
    text = (site / "01_dot_product_attention.html").read_text(encoding="utf-8")
    assert text.count('display="inline"') > 10 and re.search(r'<a [^>]*>(<[^>]*>)*<math aria-label="\w', text)


def test_plans_add_up_and_exercises_are_called_what_they_are(site):
    text = (site / "teaching.html").read_text(encoding="utf-8")
    for plan, last in [("one week", 5), ("four weeks", 8), ("ten weeks", 10)]:
        minutes = [notebook.metadata.source.minutes for notebook in list(LEARNERS.values())[:last]]
        _, _, rest = text.partition(f"<p>{plan}</p>")
        assert re.findall("<p>(.*?)</p>", rest)[1:3] == [f"1 to {last}", f"{sum(minutes) / 60:.0f}"], plan
    for kind, id in {"puzzle": "1.1", "function": "4.3", "layer": "4.1"}.items():
        entry = teaching_page.exercise_entry(EXERCISES[id])
        assert f"({kind}, {EXERCISES[id].points} point" in entry and entry.count("; ") <= 2, id


# --- in the browser ---------------------------------------------------------------------------------------------------


@pytest.mark.any_chapter
@browser.needs_chromium
@pytest.mark.parametrize("name", pages("index"))  # a chapter takes a while
def test_axe_finds_nothing_and_nothing_scrolls_sideways(name, shown):
    opened = shown(name)
    for width in WIDTHS:
        opened.set_viewport_size({"width": width, "height": 900})
        opened.wait_for_timeout(500)  # 300 ms after the last change of width, keys reach what now scrolls
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert not violations(opened, rules={rule: {"enabled": False} for rule in OF_COLOURS}), width
        for theme in THEMES:
            put_on(opened, theme)
            opened.evaluate(KEEP_ONE_OF_EACH_LOOK)
    opened.evaluate(DROP_ALL_OTHERS)
    for width in WIDTHS[::2]:
        opened.set_viewport_size({"width": width, "height": 900})
        for theme in THEMES:
            put_on(opened, theme)
            assert not violations(opened, runOnly=OF_COLOURS), (width, theme)


def put_on(opened, theme):
    """Show a page light or dark."""
    opened.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


def violations(opened, **asked):
    """{rule of axe's: the pieces of a page that break it}, of the rules asked for."""
    found = Axe().run(opened, options={"resultTypes": ["violations"], "preload": False} | asked).response["violations"]
    return {rule["id"]: [node["html"] for node in rule["nodes"]] for rule in found}


@pytest.mark.any_chapter
@browser.needs_chromium
@pytest.mark.parametrize("name", PAGES[: len(LEARNERS) + 1])
def test_every_figure_moves(name, shown):
    opened = shown(name)
    cells = LEARNERS[name].cells if name in LEARNERS else []
    tried = [cell for cell in cells if re.match(r"try-(\d|layer$)", cell.id) and "live.try_" in cell.source]
    stored_ones = len(list(stored.live_figures(LEARNERS[name]))) if name in LEARNERS else 1
    opened.wait_for_function(  # a large figure unpacks itself for a while
        "([figures, count]) => document.querySelectorAll(figures).length === count",
        arg=[LIVE, stored_ones + len(tried)],
    )
    for figure in opened.locator(LIVE).all():
        for change in (by_keyboard, by_mouse):
            for kind, control in controls(figure):
                before = figure.evaluate(CHOSEN)
                change(opened, kind, control)
                assert change is by_mouse or figure.evaluate(CHOSEN) != before, f"{kind} does not hear the keyboard"
                figure.get_by_role("button", name="Reset").click()  # what one control takes away, the next may need


@pytest.mark.any_chapter
@browser.needs_chromium
@pytest.mark.parametrize("name", [page for page in PAGES if "### Exercise" in WORDS.get(page.id, "")])
def test_every_question_answers_and_every_exercise_keeps_its_answer_until_asked(name, shown):
    opened = shown(name)
    asked = [question for question in QUESTIONS.values() if question.id.startswith(f"Q{int(name[:2])}.")]
    assert asked
    for question in asked:
        for letter, said in question.explanations.items():
            choice = opened.locator(f"#{dropdowns.anchor(question.id, letter)}")
            assert letters(said) not in letters(choice.inner_text())
            choice.locator("summary").press("Enter")
            assert letters(said) in letters(choice.inner_text())
            assert ("✓" in choice.inner_text()) == (letter == question.right)
    answers = opened.locator("details[id^=answer-]")
    assert answers.count() and answers.evaluate_all("all => all.every(one => !one.open)")
    answers.first.locator("summary").click()
    assert answers.first.locator("pre").is_visible()


def letters(text):
    """A text without what Markdown, formulas and a typographer change."""
    return re.sub(r"[\W_]", "", text)


@pytest.mark.any_chapter
@browser.needs_chromium
def test_search_finds_a_chapter_by_what_else_its_words_are_called(shown):
    opened = shown("index")
    for asked, topic in [("RoPE", "09_positions"), ("GQA", "06_in_practice"), ("KV cache", "06_in_practice")]:
        opened.goto(f"{opened.url.rpartition('/')[0]}/search.html?q={asked}")
        opened.get_by_text("Search finished").wait_for()
        found = opened.locator("ul.search li a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        assert any(topic in link for link in found), (asked, found)


def test_the_first_page_loads_little(site):
    loads = [path.partition("?")[0] for path in Parts(first_page(site)).loads]
    loaded = [site / "index.html", *(site / path for path in loads if path.endswith((".css", ".js")))]
    packed = {path.name: len(gzip.compress(path.read_bytes())) for path in loaded}
    assert sum(packed.values()) <= 250_000, packed
    assert not list(site.rglob("*.woff2")) and "fontawesome" not in first_page(site)


def first_page(site):
    """The text of the first page."""
    return (site / "index.html").read_text(encoding="utf-8")


def test_nothing_on_a_page_waits_for_a_kernel(site):
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for dead in (
            "not answered",
            "Nothing is due",
            "Nothing to show yet",
            "Your layer stopped",
            "fill in the exercise",
            "Run the cells from top to bottom",
        ):
            assert dead not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL), (path.name, dead)


@pytest.mark.any_chapter
@browser.needs_chromium
def test_search_names_the_sections_that_hold_what_was_asked_or_what_it_is_also_called(shown, parts):
    opened = shown("index")
    for asked, section in [("previous-token head", "Exercise 7.2"), ("GQA", "Fewer keys than queries")]:
        opened.goto(f"{opened.url.rpartition('/')[0]}/search.html?q={asked}")
        links = opened.locator("ul.sections a")
        links.first.wait_for()
        assert any(section in text for text in links.all_inner_texts()), asked
        for place in links.evaluate_all("all => all.map(one => one.getAttribute('href'))"):
            page, anchor = urldefrag(place)
            assert anchor in parts[page].ids


@pytest.mark.any_chapter
@browser.needs_chromium
def test_a_figures_state_stands_in_the_address_and_a_link_leads_to_it(shown):
    opened = shown("10_what_a_long_text_costs")
    figure = opened.locator("[data-figure=tiles]")
    figure.locator("[name=forgotten]").check()
    for name in ("length", "tile"):  # the second may be large only where the first is small
        figure.locator(f"[name={name}]").fill("1" if name == "length" else "6")
    address, said = opened.url, figure.locator(".said").inner_text()
    assert "Tile 6 of 21" in said and "tiles-1.tile=6" in address and "tiles-1.forgotten=1" in address
    opened.goto("about:blank")
    opened.goto(address)
    figure.locator(".said:not(:empty)").wait_for()
    assert figure.locator(".said").inner_text() == said
    figure.get_by_role("button", name="Reset").click()
    assert "?" not in opened.url


def test_a_chapters_copy_for_reading_needs_nothing_beside_it_and_has_all_its_words(site):
    for topic in LEARNERS:
        page, copy = ((site / path).read_text(encoding="utf-8") for path in (f"{topic}.html", f"reading/{topic}.html"))
        found, article = Parts(copy), page.partition("<article")[2].partition("</article>")[0]
        assert all(re.match(r"#|https?:", link) for link in found.links) and not found.silent
        assert all(load.startswith("data:") for load in found.loads)
        for part in ("<h2>", "<pre>", "data-figure=", "<img", "<details", "<math"):
            assert copy.count(part) == article.count(part) >= (part == "<h2>"), (topic, part)


@pytest.mark.any_chapter
@browser.needs_chromium
def test_search_finds_softmax_from_disk(shown):
    opened = shown("index")
    opened.goto(opened.url.replace("index.html", "search.html?q=softmax"))
    opened.get_by_text("Search finished").wait_for()
    results = opened.locator("ul.search li a")
    assert results.count() >= len([name for name, text in WORDS.items() if "softmax" in text])
    results.first.click()
    assert "softmax" in opened.locator("main").inner_text().lower()
