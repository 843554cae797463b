import { loadDrizzle } from "./load_drizzle.ts";

type Schema = Record<string, unknown>;

const schemas: Map<string, Schema> = new Map();
const keys: WeakMap<Schema, string> = new WeakMap();

/**
 * Replaces the schema of a database configuration. Its tables are loaded when something reads them.
 *
 * @param key The key of the schema in the second file.
 * @returns The same object for the same key: clients are cached by their schema.
 */
export function definePrecompiledSchema(key: string): Schema {
  let schema = schemas.get(key);
  if (schema !== undefined) return schema;
  const load = (): Schema => loadDrizzle().schemas[key];
  schema = new Proxy<Schema>({}, {
    get: (_, name) => Reflect.get(load(), name),
    has: (_, name) => Reflect.has(load(), name),
    ownKeys: () => Reflect.ownKeys(load()),
    getOwnPropertyDescriptor: (_, name) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(load(), name);
      // a proxy may report a member as fixed only if its target has it
      return descriptor && { ...descriptor, configurable: true };
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
  schemas.set(key, schema);
  keys.set(schema, key);
  return schema;
}

/** Returns the tables and relations of a schema. */
export function loadSchema(schema: Schema): Schema {
  const key = keys.get(schema);
  return key === undefined ? schema : loadDrizzle().schemas[key];
}
