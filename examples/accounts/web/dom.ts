/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The answer of the client. */
interface Result {
  readonly data?: unknown;
  readonly error?: {
    readonly message?: string;
    readonly code?: string;
    readonly status?: number;
  } | null;
}

/** Values of a form by name. */
export type Values = Readonly<Record<string, string>>;

/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: string;
  readonly value?: string;
  readonly autocomplete?: string;
}

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

/** Creates a section with a heading. */
export function section(title: string, ...children: (string | Node)[]): HTMLElement {
  return el("section", { "aria-label": title }, el("h2", {}, title), ...children);
}

/** Shows a message of an action. */
export function show(text: string): void {
  getPart("status").textContent = text;
}

/**
 * Runs an action and shows its outcome.
 *
 * @returns True if it succeeded.
 */
export async function run(done: string, action: () => Promise<Result>): Promise<boolean> {
  show("…");
  try {
    const { error } = await action();
    show(error ? `${error.code ?? error.status}: ${error.message ?? "failed"}` : done);
    return !error;
  } catch (error) {
    show(`failed: ${(error as Error).message}`);
    return false;
  }
}

/**
 * Creates a form.
 *
 * @param submit Label of the button.
 * @param fields The fields.
 * @param action Called with the values.
 */
export function form(
  submit: string,
  fields: readonly Field[],
  action: (values: Values) => unknown,
): HTMLElement {
  const element = el(
    "form",
    { "aria-label": submit },
    ...fields.map(({ name, label, type = "text", value = "", autocomplete = "off" }) =>
      el(
        "label",
        {},
        label,
        el("input", { name, type, value, autocomplete, "aria-label": label }),
      )
    ),
    el("button", { type: "submit" }, submit),
  ) as HTMLFormElement;
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = Object.fromEntries(
      [...new FormData(element)].map(([name, value]) => [name, String(value)]),
    );
    void action(values);
  });
  return element;
}

/** Creates a button. */
export function button(label: string, action: () => unknown): HTMLElement {
  const element = el("button", { type: "button" }, label);
  element.addEventListener("click", () => void action());
  return element;
}
