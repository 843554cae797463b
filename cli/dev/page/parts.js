/** Parts that several views have. */

import { el } from "./dom.js";

/** Runs `show`, which reads and renders a view. A view that is empty so far says what it loads. */
export async function openView(panel, what, show) {
  if (panel.children.length === 0) panel.replaceChildren(renderEmpty(`Loading ${what} …`));
  try {
    await show();
  } catch (error) {
    panel.replaceChildren(renderEmpty(error.message));
  }
}

/** Fills a place with what `read` resolves to, or with its error. */
export async function fill(place, read) {
  try {
    place.replaceChildren(...await read());
  } catch (error) {
    place.replaceChildren(renderBad(error.message));
  }
}

/** Creates the paragraph of a view or a list without content. */
export function renderEmpty(text) {
  return el("p", { class: "empty" }, text);
}

/** Creates the paragraph of an error. */
export function renderBad(text) {
  return el("p", { class: "bad" }, text);
}

/** Creates the button that shows and hides a detail. `onToggle` learns whether it is shown. */
export function renderRow({ badge, look, title, who, fault, when }, detail, onToggle) {
  const button = el(
    "button",
    { class: "row", "aria-expanded": String(!detail.hidden), "aria-controls": detail.id },
    el("span", { class: `badge ${look}` }, badge),
    el(
      "span",
      { class: "what" },
      el("code", {}, title),
      el("span", { class: "who" }, who.filter(Boolean).join(" · ")),
      fault ? el("span", { class: "who bad" }, fault) : undefined,
    ),
    when === undefined ? undefined : el("span", { class: "when" }, when),
  );
  button.addEventListener("click", () => {
    detail.hidden = !detail.hidden;
    button.setAttribute("aria-expanded", String(!detail.hidden));
    onToggle?.(!detail.hidden);
  });
  return button;
}

/** Creates a table. `heads` and `rows` contain the children of its cells. */
export function renderTable(caption, heads, rows, label = caption) {
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell))))),
    ),
  );
}

/** The number of rows on a page. */
const PAGE = 25;

/** Creates the buttons that page through `count` rows. `open` gets the offset to show. */
export function renderPager({ offset, count, what }, open) {
  const last = Math.min(offset + PAGE, count);
  const button = (label, to, disabled = false) =>
    el("button", { disabled, onclick: () => void open(to) }, label);
  return el(
    "div",
    { class: "pager" },
    button("Previous", Math.max(0, offset - PAGE), offset === 0),
    button("Next", offset + PAGE, last >= count),
    button("Read again", offset),
    el(
      "span",
      { class: "dim" },
      count === 0 ? `No ${what}` : `${offset + 1} to ${last} of ${count}`,
    ),
  );
}
