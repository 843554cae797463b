/** The name of a table, view or sequence. */
export interface TableName {
  readonly schema?: string;
  readonly name: string;
}

/** Formats a table name as in declarations: `app.notes`. */
export function printTable({ schema, name }: TableName): string {
  return schema === undefined ? name : `${schema}.${name}`;
}

/** Formats a table name without `public`, the default schema. */
export function printPublic({ schema, name }: TableName): string {
  return printTable(schema === "public" ? { name } : { schema, name });
}

/** Parses a declared table name: `app.notes` is `notes` in the schema `app`. */
export function parseTable(text: string): TableName {
  const dot = text.indexOf(".");
  return dot < 0 ? { name: text } : { schema: text.slice(0, dot), name: text.slice(dot + 1) };
}
