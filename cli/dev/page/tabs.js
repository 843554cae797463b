/** Tabs by the ARIA Authoring Practices: arrow keys select a tab, and the URL fragment keeps it. */

const tabs = [...document.querySelectorAll('[role="tab"]')];
const listeners = new Map();

/** Calls a function each time a view is opened. */
export function onOpen(name, listener) {
  listeners.set(name, listener);
  if (current() === name) listener();
}

/** Returns the name of the open view. */
export function current() {
  return tabs.find((tab) => tab.getAttribute("aria-selected") === "true").id.slice("tab-".length);
}

/** Opens a view. */
export function open(name) {
  const known = tabs.some((tab) => tab.id === `tab-${name}`) ? name : "requests";
  for (const tab of tabs) {
    const isOpen = tab.id === `tab-${known}`;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !isOpen;
    // the row of tabs is wider than a phone
    if (isOpen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  if (location.hash.slice(1) !== known) history.replaceState(null, "", `#${known}`);
  listeners.get(known)?.();
}

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.id.slice("tab-".length)));
  tab.addEventListener("keydown", (event) => {
    const next = event.key === "Home"
      ? 0
      : event.key === "End"
      ? tabs.length - 1
      : event.key in STEPS
      ? (index + STEPS[event.key] + tabs.length) % tabs.length
      : undefined;
    if (next === undefined) return;
    event.preventDefault();
    tabs[next].focus();
    open(tabs[next].id.slice("tab-".length));
  });
}
addEventListener("hashchange", () => open(location.hash.slice(1)));
open(location.hash.slice(1));
