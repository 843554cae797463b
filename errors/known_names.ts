/** Returns names of tables and columns that the application declares. */
export type NameSource = () => Iterable<string>;

const sources: Set<NameSource> = new Set();

/**
 * Registers names that error messages of the database may show. Quoted words of those messages
 * are otherwise replaced, because an identifier of dynamic SQL can hold a value.
 *
 * @param source Called only when a message is described.
 */
export function addKnownNames(source: NameSource): void {
  sources.add(source);
}

/** Returns all registered names. */
export function readKnownNames(): Set<string> {
  return new Set([...sources].flatMap((source) => [...source()]));
}
