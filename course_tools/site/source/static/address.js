// The page's address holds the state of figures' controls, such as scaling-1.d_k=16, so that a link can restore it.
document.addEventListener("DOMContentLoaded", () => {
  const counts = {}, first = new Map(), asked = new URLSearchParams(location.search); // first: each figure's first state
  for (const figure of document.querySelectorAll(".course-figure")) {
    const kind = figure.dataset.figure;
    figure.place = `${kind}-${counts[kind] = (counts[kind] || 0) + 1}`;
  }
  const named = (form) => [...form.elements].filter(({ name, type, checked }) => name && (type !== "radio" || checked));
  const values = (form) =>
    named(form).map((each) => [each.name, each.type === "checkbox" ? +each.checked : each.value]);

  function set(form, name, value) {
    const [control] = [form[name]].flatMap((found) => found?.length && !found.options ? [...found] : found)
      .filter((each) => each && (each.type !== "radio" || each.value === value));
    if (!control) return;
    if (["radio", "checkbox"].includes(control.type)) control.checked = control.type === "radio" || value === "1";
    else control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // A figure starts when it is unpacked. It then takes its state from the address, twice: one control may limit another.
  const begin = (figure) => {
    const form = figure.querySelector("form");
    if (first.has(figure) || !form || !figure.querySelector(".said")?.textContent) return;
    first.set(figure, Object.fromEntries(values(form)));
    const mine = [...asked].filter(([key]) => key.startsWith(`${figure.place}.`));
    for (const [key, value] of [...mine, ...mine]) set(form, key.slice(figure.place.length + 1), value);
    if (mine.length) figure.scrollIntoView();
  };
  const begun = new MutationObserver((changes) =>
    new Set(changes.map(({ target }) => target.closest?.(".course-figure")).filter(Boolean)).forEach(begin)
  );
  begun.observe(document.body, { childList: true, subtree: true });
  document.querySelectorAll(".course-figure").forEach(begin);

  function write({ target }) {
    const figure = target.closest?.(".course-figure");
    if (!first.has(figure)) return;
    const address = new URL(location);
    for (const [name, value] of values(figure.querySelector("form"))) {
      const key = `${figure.place}.${name}`;
      if (String(value) === String(first.get(figure)[name])) address.searchParams.delete(key);
      else address.searchParams.set(key, value);
    }
    history.replaceState(null, "", address);
  }
  for (const event of ["input", "click", "keyup"]) document.addEventListener(event, write);
});
