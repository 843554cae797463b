import type { SchemaFacts, TableFacts } from "./schema_facts.ts";

/** Tables that a DELETE changes through foreign keys. */
export interface ChangedTables {
  /** The table itself, and tables whose rows are deleted or changed with its rows. */
  readonly tables: ReadonlySet<TableFacts>;
  /** True if a foreign key changes the table itself, or checks a table that changes. */
  readonly isEntangled: boolean;
}

/**
 * Follows the foreign keys that reference a table whose rows are deleted.
 *
 * @param facts The foreign keys.
 * @param table The table.
 */
export function findDeleted(facts: SchemaFacts, table: TableFacts): ChangedTables {
  const deleted = new Set([table]);
  const changed = new Set([table]);
  // the set grows during the loop, so each table is followed once
  for (const target of changed) {
    for (const key of facts.foreignKeys) {
      if (key.target !== target) continue;
      const isDeleted = deleted.has(target);
      if (isDeleted && key.onDelete === "none") continue;
      if (isDeleted && key.onDelete === "cascade") deleted.add(key.table);
      changed.add(key.table);
    }
  }
  const isEntangled = facts.foreignKeys.some((key) =>
    changed.has(key.table) && deleted.has(key.target) &&
    (key.table === table || key.onDelete === "none")
  );
  return { tables: changed, isEntangled };
}

/**
 * Finds the names under which tables can be read: their own, and those of views over them.
 *
 * @param facts The views.
 * @param tables The tables.
 */
export function findReadableNames(
  facts: SchemaFacts,
  tables: Iterable<TableFacts>,
): ReadonlySet<string> {
  const names = new Set([...tables].map(({ name }) => name));
  for (let size = -1; size !== names.size;) {
    size = names.size;
    for (const view of facts.views) if (mentions(view.words, names)) names.add(view.name);
  }
  return names;
}

function mentions(words: ReadonlySet<string>, names: ReadonlySet<string>): boolean {
  for (const name of names) if (words.has(name)) return true;
  return false;
}
