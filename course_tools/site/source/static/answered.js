// Answers and unfolded blocks are remembered in this browser until the reader presses the button.
document.addEventListener("DOMContentLoaded", () => {
  const key = `unfolded ${location.pathname}`, all = [...document.querySelectorAll("details.sd-dropdown[id]")];
  const read = () => JSON.parse(localStorage.getItem(key) || "[]");
  const article = document.querySelector("article");
  if (!all.length || !article) return;
  const forget = Object.assign(document.createElement("button"), {
    className: "forget",
    textContent: "Forget my answers on this page",
    onclick: () => {
      all.forEach((each) => each.open = false);
      localStorage.removeItem(key);
      forget.hidden = true;
    },
  });
  const unfolded = read();
  all.forEach((each) => {
    each.open ||= unfolded.includes(each.id);
    each.addEventListener("toggle", () => {
      const open = all.filter((each) => each.open).map((each) => each.id);
      localStorage.setItem(key, JSON.stringify(open));
      forget.hidden = !open.length;
    });
  });
  forget.hidden = !unfolded.length;
  article.append(forget);
});
