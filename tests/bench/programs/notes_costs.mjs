/**
 * Answers requests with the built functions of the notes application and counts, for each, the
 * promises that were created and the functions that got a name (`build.keepNames`), libraries
 * included, and whether the function has loaded its `rest.cjs`. Reads one request in JSON from each line of its input and prints one line for it.
 */
import { createHook } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [dist] = process.argv.slice(2);
let promises = 0;
let names = 0;

const defineProperty = Object.defineProperty;
// esbuild's helper reads it when a bundle is imported
Object.defineProperty = function countNames(target, key, descriptor) {
  if (key === "name" && typeof target === "function") names++;
  return defineProperty(target, key, descriptor);
};

const handlers = {};
for (const name of ["Auth", "NotesGet", "NotesByIdGet", "NotesPost", "WebhooksNotes"]) {
  ({ handler: handlers[name] } = await import(pathToFileURL(`${dist}/${name}/index.mjs`).href));
}
createHook({
  init(_id, type) {
    if (type === "PROMISE") promises++;
  },
}).enable();

/** Files that functions have loaded on demand. */
const { cache } = createRequire(import.meta.url);

/** Prints an answer, after what the request has left to do in this turn of the event loop. */
function report(name, answer) {
  setImmediate(() => {
    const rest = Object.keys(cache).filter((file) => file.endsWith(`${name}/rest.cjs`)).length;
    process.stdout.write(`${JSON.stringify({ promises, names, rest, ...answer })}\n`);
  });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { name, event } = JSON.parse(line);
  const context = {
    awsRequestId: randomUUID(),
    functionName: "notes",
    getRemainingTimeInMillis: () => 29_000,
  };
  promises = names = 0;
  handlers[name](event, context).then(
    ({ statusCode, body }) => report(name, { statusCode, body }),
    (error) => report(name, { body: String(error?.stack ?? error) }),
  );
});
