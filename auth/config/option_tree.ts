import { unknownOption } from "../../core/option_rules.ts";

/** The options of an object by name, down to values. `*` are the values of an object with keys of the application. */
export interface OptionTree {
  readonly [option: string]: true | OptionTree;
}

/** A value that contains no options: also lists, functions, schemas and storages, which are the application's objects. */
type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | Date
  | readonly unknown[]
  | ((...args: never[]) => unknown)
  | { readonly "~standard": unknown }
  | { readonly get: unknown; readonly set: unknown }
  | { readonly consume: unknown };

type Key<T> = T extends unknown ? keyof T & string : never;
type Member<T, K> = T extends unknown ? K extends keyof T ? T[K] : never : never;
type Each<T> = T extends true ? true : { readonly "*": T };
type Tree<T> = [T] extends [never] ? true
  : string extends Key<T> ? Each<OptionTreeOf<Member<T, string>>>
  : { readonly [K in Key<T>]: OptionTreeOf<Member<T, K>> };

/**
 * The tree that a type of options has. A table with `satisfies OptionTreeOf<T>` does not compile when it lacks an option
 * of the type, or has an option that the type lacks.
 */
export type OptionTreeOf<T> = unknown extends T ? true : Tree<Exclude<T, Value>>;

/**
 * Refuses options that are unknown at any depth. Their values are not checked.
 *
 * @param path Where the value is: `AuthConfig.session`.
 * @param value The value. Only plain objects are looked into.
 * @param tree Its options.
 * @throws {ConfigurationError} If there is one. Names its path and the nearest option.
 */
export function checkOptionTree(path: string, value: unknown, tree: true | OptionTree): void {
  if (tree === true || typeof value !== "object" || value === null) return;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return;
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(tree, name) ? tree[name] : tree["*"];
    if (known === undefined) throw unknownOption(path, name, Object.keys(tree));
    checkOptionTree(`${path}.${name}`, inner, known);
  }
}
