// The search page also lists sections that have words beginning with each search word; matching titles come first.
document.addEventListener("DOMContentLoaded", () => {
  const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().match(/[^\W\d_][\w-]+/gu);
  if (!asked) return;
  const has = (text) => asked.every((word) => ` ${text.toLowerCase()}`.includes(` ${word}`));
  const found = SECTIONS.filter(([, title, words]) => has(`${title} ${words}`))
    .sort(([, one], [, other]) => has(other) - has(one)).slice(0, 12);
  const heading = Object.assign(document.createElement("h2"), { textContent: "Sections" });
  const list = document.createElement("ul");
  list.className = "sections";
  for (const [place, title] of found) {
    const link = Object.assign(document.createElement("a"), { href: place, textContent: title });
    const chapter = +place.slice(0, 2) ? ` (chapter ${+place.slice(0, 2)})` : "";
    list.appendChild(document.createElement("li")).append(link, chapter);
  }
  if (found.length) document.querySelector("#search-results").before(heading, list);
});
