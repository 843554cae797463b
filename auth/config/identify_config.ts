const identities: WeakMap<object, number> = new WeakMap();
let lastIdentity = 0;

/**
 * Returns a key that is equal for equal configurations. Values are compared by content, tables and
 * functions by identity. The key contains the secret: keep it in memory.
 *
 * @param value Settings, or a part of them.
 * @returns The key.
 */
export function identifyConfig(value: unknown): string {
  if (
    typeof value === "function" || (typeof value === "object" && value !== null && !isPlain(value))
  ) {
    let identity = identities.get(value);
    if (identity === undefined) identities.set(value, identity = ++lastIdentity);
    return `#${identity}`;
  }
  if (typeof value !== "object" || value === null) {
    return typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? "";
  }
  if (Array.isArray(value)) return `[${value.map(identifyConfig).join()}]`;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([key, item]) => `${JSON.stringify(key)}:${identifyConfig(item)}`);
  return `{${entries.join()}}`;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
