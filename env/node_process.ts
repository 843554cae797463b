import type nodeProcess from "node:process";

/**
 * The global, which Node, Deno and Bun have: importing `node:process` reads every property of it, standard input and output
 * among them, which costs 2 ms of a cold start. `undefined` elsewhere.
 */
export const runtimeProcess: typeof nodeProcess | undefined =
  (globalThis as { process?: typeof nodeProcess }).process;
