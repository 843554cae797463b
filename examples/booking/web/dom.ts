/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { describe } from "./api.ts";

/** Returns an element of the page. */
export function getPart(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Creates an element with text or children. */
export function el(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (string | Node)[]
): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Runs an action and shows its outcome. */
export async function run(done: string, action: () => Promise<unknown>): Promise<void> {
  const status = getPart("status");
  status.textContent = "…";
  try {
    await action();
    status.textContent = done;
  } catch (error) {
    status.textContent = describe(error);
  }
}

/** Creates a button. */
export function button(label: string, action: () => unknown): HTMLElement {
  const element = el("button", { type: "button" }, label);
  element.addEventListener("click", () => void action());
  return element;
}

/** Creates a form with one input for each field: its type by name. */
export function form(
  label: string,
  fields: Readonly<Record<string, string>>,
  action: (values: FormData) => unknown,
): HTMLElement {
  const inputs = Object.entries(fields).map(([name, type]) =>
    el("label", {}, name, el("input", { name, type, required: "" }))
  );
  const element = el("form", { "aria-label": label }, ...inputs, el("button", {}, label));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    void action(new FormData(element as HTMLFormElement));
  });
  return element;
}

/**
 * Creates a list that grows by a page with each press of "More".
 *
 * @param id Id of the list.
 * @param load Loads the page of a cursor.
 * @param show Creates the element of an item.
 */
export async function pagedList<TItem>(
  id: string,
  load: (cursor?: string) => Promise<{ items: TItem[]; nextCursor: string | null }>,
  show: (item: TItem) => Node,
): Promise<HTMLElement> {
  const list = el("ul", { id });
  const more = button("More", () => run("", () => append(more.dataset.cursor)));

  async function append(cursor?: string): Promise<void> {
    const { items, nextCursor } = await load(cursor);
    list.append(...items.map(show));
    more.hidden = nextCursor === null;
    more.dataset.cursor = nextCursor ?? "";
  }

  await append();
  return el("div", {}, list, more);
}
