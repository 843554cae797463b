import type nodeProcess from "node:process";

/** Modules of Node that are loaded when they are needed; Deno and Bun have them too. */
interface BuiltinModules {
  "node:async_hooks": typeof import("node:async_hooks");
  "node:buffer": typeof import("node:buffer");
  "node:crypto": typeof import("node:crypto");
  "node:fs": typeof import("node:fs");
  "node:util": typeof import("node:util");
  "node:zlib": typeof import("node:zlib");
}

/**
 * Loads a module of Node on demand. An import would load it with the program and read all of its exports, which takes
 * 0.2 ms (`node:async_hooks`) to 2 ms (`node:fs`) of every cold start.
 *
 * @param name The module's name, with `node:`.
 * @returns The module, or `undefined` where the runtime has no `process.getBuiltinModule` (Node 20.16, Deno 2 and Bun 1.1
 * have it).
 */
export function builtinModule<N extends keyof BuiltinModules>(
  name: N,
): BuiltinModules[N] | undefined {
  return runtimeProcess?.getBuiltinModule?.(name) as BuiltinModules[N] | undefined;
}

/**
 * The global, which Node, Deno and Bun have: importing `node:process` reads every property of it, standard input and output
 * among them, which costs 2 ms of a cold start. `undefined` elsewhere.
 */
export const runtimeProcess: typeof nodeProcess | undefined =
  (globalThis as { process?: typeof nodeProcess }).process;
