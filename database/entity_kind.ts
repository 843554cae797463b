/** Property of drizzle's classes with their name, registered globally. */
export const ENTITY_KIND: unique symbol = Symbol.for("drizzle:entityKind");

/**
 * Checks the class of an object of drizzle by its name, as drizzle's `is` does for objects of another
 * copy of drizzle. It needs no class, so that functions without drizzle can call it.
 *
 * @param value Any value.
 * @param kind The name of a class of drizzle.
 */
export function isKind(value: unknown, kind: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  let type: unknown = Object.getPrototypeOf(value)?.constructor;
  while (typeof type === "function") {
    if ((type as unknown as Record<symbol, unknown>)[ENTITY_KIND] === kind) return true;
    type = Object.getPrototypeOf(type);
  }
  return false;
}
