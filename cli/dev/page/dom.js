/** Small helpers. Text always goes in as text: what functions log or answer is never read as HTML. */

/** Makes an element: `el("button", { class: "row", onclick }, "text", child)`. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat().filter((child) => child !== undefined && child !== null && child !== false),
  );
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Asks the server; a refusal is an error with the server's own words. */
export async function ask(path, options) {
  const response = await fetch(`/_trellis/api/${path}`, options);
  const value = await response.json();
  if (!response.ok && !("callId" in value)) {
    throw new Error(value.message ?? `The server answered ${response.status}`);
  }
  return value;
}

/** `12:03:44` of an ISO time, in local time. */
export function getTime(iso) {
  return new Date(iso).toLocaleTimeString(undefined, { hour12: false });
}

export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** A block of text that can be scrolled by keyboard. */
export function block(value, label) {
  return el("pre", { tabindex: "0", "aria-label": label }, pretty(value));
}
