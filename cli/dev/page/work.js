import { ask, byId, el } from "./dom.js";
import { openView, renderBad, renderEmpty, renderRow } from "./parts.js";
import { current } from "./tabs.js";

/** Milliseconds between two looks while the tab is open. */
const LOOK_MS = 1000;

/**
 * Creates the view of jobs or of workflows. It is read again each second while its tab is open.
 *
 * @param {object} view
 * @param view.name `jobs` or `workflows`: the tab, and the path of the API.
 * @param view.note Text above the list.
 * @param view.states The states, for the filter.
 * @param view.actions The changes of work: path, label, and the states that allow it.
 * @param view.describe Returns the row, the chart and the error of an item.
 * @param view.renderDetails Returns the parts of an open item. Its second parameter is what this function returns.
 * @returns Reads the view again. With an id it also opens that item.
 */
export function createWorkView(
  { name, note, states, actions, describe, renderDetails },
) {
  const panel = byId(`panel-${name}`);
  const list = el("div", {});
  const status = el("p", { class: "note", role: "status" });
  const known = el("datalist", { id: `${name}-names` });
  const state = el(
    "select",
    { "aria-label": "State", onchange: () => void open() },
    ["", ...states].map((each) => el("option", { value: each }, each || "all states")),
  );
  const only = el("input", {
    type: "search",
    "aria-label": "Name",
    placeholder: "Name",
    list: known.id,
    autocomplete: "off",
    onchange: () => void open(),
  });
  panel.replaceChildren(
    el("p", { class: "note" }, note),
    el(
      "div",
      { class: "bar" },
      state,
      el("div", { class: "grow" }, only, known),
      el("button", { onclick: () => void open() }, "Read again"),
    ),
    status,
    list,
  );

  /** The list that is shown, as JSON. */
  let shown = "";
  let timer;
  /** The details that are shown, by id. */
  const details = new Map();
  /** The shown details as JSON, by id. */
  const texts = new Map();

  function createDetail(id, hidden) {
    return el("div", { class: "detail", id: `${name}-${id}`, hidden });
  }

  function getQuery() {
    return String(new URLSearchParams({ state: state.value, name: only.value.trim() }));
  }

  async function open(id) {
    if (id !== undefined) {
      state.value = only.value = shown = "";
      details.set(id, details.get(id) ?? createDetail(id, false));
    }
    await openView(list, name, async () => {
      const query = getQuery();
      const items = await ask(`${name}?${query}`).catch((error) => {
        shown = "";
        throw error;
      });
      if (query !== getQuery()) return;
      const text = query + JSON.stringify(items);
      if (text !== shown) keepFocus(() => showList(items));
      shown = text;
      if (id !== undefined) getRow(details.get(id))?.focus();
      for (const [id, detail] of details) void showDetails(id, detail);
    });
    clearTimeout(timer);
    timer = setTimeout(refresh, LOOK_MS);
  }

  function refresh() {
    if (current() === name) void open();
  }

  function showList(items) {
    known.replaceChildren(
      ...[...new Set(items.map((item) => item.name))].map((value) => el("option", { value })),
    );
    list.replaceChildren(
      items.length === 0
        ? renderEmpty(`No ${name}.`)
        : el("ul", { class: "list" }, items.map(renderItem)),
    );
  }

  /** Moved elements lose the focus, and replaced ones leave it to the row that they belong to. */
  function keepFocus(render) {
    const focused = document.activeElement;
    const detail = focused.closest(".user")?.querySelector(":scope > .detail");
    render();
    if (focused === document.activeElement) return;
    (panel.contains(focused) ? focused : getRow(detail))?.focus();
  }

  /** Returns the button of the row that shows and hides a detail. */
  function getRow(detail) {
    return panel.querySelector(`[aria-controls="${detail?.id}"]`);
  }

  function renderItem(item) {
    const { id } = item;
    const detail = details.get(id) ?? createDetail(id, true);
    const { row, chart, error } = describe(item);
    const toggle = renderRow({ badge: item.state, title: item.name, ...row }, detail, (isShown) => {
      texts.delete(id);
      if (!isShown) return void details.delete(id);
      details.set(id, detail);
      void showDetails(id, detail);
    });
    const buttons = actions.filter(([, , allowed]) => allowed.includes(item.state));
    return el(
      "li",
      { class: "user" },
      toggle,
      buttons.map(([action, label]) =>
        el("button", {
          class: "sign-in",
          "aria-label": `${label}: ${item.name}`,
          onclick: () => void change(id, action),
        }, label)
      ),
      chart,
      error === undefined ? undefined : renderBad(error),
      detail,
    );
  }

  async function showDetails(id, detail) {
    try {
      const item = await ask(`${name}/${id}`);
      const text = JSON.stringify(item);
      if (texts.get(id) === text) return;
      texts.set(id, text);
      keepFocus(() => detail.replaceChildren(...renderDetails(item, open)));
    } catch (error) {
      texts.delete(id);
      detail.replaceChildren(renderBad(error.message));
    }
  }

  async function change(id, action) {
    status.replaceChildren();
    try {
      await ask(`${name}/${id}/${action}`, { method: "POST" });
      await open();
    } catch (error) {
      status.replaceChildren(error.message);
    }
  }
  return open;
}
