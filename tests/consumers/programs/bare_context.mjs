// deno-lint-ignore-file no-console
// Runs a bundle in a V8 context that has web standards and nothing of Node's. Its argument is the bundle.
import { readFileSync } from "node:fs";
import process from "node:process";
import vm from "node:vm";

const STANDARDS =
  `AbortController AbortSignal ArrayBuffer atob btoa clearInterval clearTimeout console crypto DOMException Event
  EventTarget Headers performance queueMicrotask ReadableStream Request Response structuredClone TextDecoder TextEncoder
  Uint8Array URL URLSearchParams`.split(/\s+/);

const context = vm.createContext(
  Object.fromEntries(STANDARDS.map((name) => [name, globalThis[name]])),
);
// a number, as the standard says, in place of Node's object
const timers = new Map();
context.setTimeout = (...args) => {
  const timer = setTimeout(...args);
  timers.set(Number(timer), timer);
  return Number(timer);
};
context.clearTimeout = (id) => clearTimeout(timers.get(id));
context.setInterval = (...args) => Number(setInterval(...args));
context.clearInterval = (id) => clearInterval(id);
const exercise = vm.runInContext(
  `${readFileSync(process.argv[2], "utf8")};bundle.exercise`,
  context,
);
const found = vm.runInContext(
  "[typeof process, typeof Buffer, typeof require, typeof global]",
  context,
);
console.log(JSON.stringify({ found, ...await exercise() }));
process.exit();
