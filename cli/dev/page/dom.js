/**
 * DOM functions. Strings become text nodes and are never parsed as HTML: they contain logs and
 * responses of functions.
 */

/** Creates an element: `el("button", { class: "row", onclick }, "text", child)`. */
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

/** Sends a request to the server. Throws an error with the server's message if it fails. */
export async function ask(path, options) {
  const response = await fetch(`/_trellis/api/${path}`, options);
  const value = await response.json();
  if (!response.ok && !("callId" in value)) {
    throw new Error(value.message ?? `The server responded with ${response.status}`);
  }
  return value;
}

/** Formats an ISO time as local time: `12:03:44`. */
export function getTime(iso) {
  return new Date(iso).toLocaleTimeString(undefined, { hour12: false });
}

/** Formats a duration: `3.2 ms`, `4.8 s`, `12 min`, `3 h`. */
export function getDuration(ms) {
  const [size, unit] = ms < 1000
    ? [1, "ms"]
    : ms < 120_000
    ? [1000, "s"]
    : ms < 7_200_000
    ? [60_000, "min"]
    : [3_600_000, "h"];
  return `${Math.round(ms / size * 10) / 10} ${unit}`;
}

export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Creates a text block that can be scrolled with the keyboard. */
export function block(value, label) {
  return el("pre", { tabindex: "0", "aria-label": label }, pretty(value));
}
