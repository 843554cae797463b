import { getTableColumns } from "drizzle-orm";
import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { isTrellis } from "./evaluate.ts";
import type { LiteralReader, Place } from "./literals.ts";
import { getFirstCall } from "./serial_columns.ts";
import { ts } from "./typescript.ts";

/** A column of a drizzle table, as its declaration tells. */
export interface DeclaredColumn {
  /** The name in the database. */
  readonly name: string;
  /** Whether drizzle sets it in each UPDATE that does not set it itself. */
  readonly isSetOnUpdate: boolean;
}

/** A table's columns by the names of their properties. */
export type DeclaredColumns = ReadonlyMap<string, DeclaredColumn>;

type Model = keyof typeof AUTH_SCHEMA_MAPPING;

/**
 * The columns of one of the auth package's tables.
 *
 * @param model The table's key in `AuthConfig.schema`.
 */
export function authColumns(model: Model): DeclaredColumns {
  const columns = Object.entries(getTableColumns(AUTH_SCHEMA_MAPPING[model]));
  return new Map(columns.map(([property, { name, onUpdateFn }]) => [property, {
    name,
    isSetOnUpdate: onUpdateFn !== undefined,
  }]));
}

/** The columns that a table of one's own can spread, by the name of the package's constant. */
const SPREADABLE: Readonly<Record<string, Model>> = {
  AUTH_USER_COLUMNS: "user",
  AUTH_SESSION_COLUMNS: "session",
  AUTH_ACCOUNT_COLUMNS: "account",
  AUTH_VERIFICATION_COLUMNS: "verification",
};

/**
 * Reads the columns of a drizzle table from its text: those that are written out, and those that
 * are spread from the auth package's constants or from an object.
 *
 * @param reader Reads literals.
 * @param definition The call that makes the table.
 * @returns The columns; `undefined` when one of them cannot be told.
 */
export function readTableColumns(
  reader: LiteralReader,
  definition: ts.CallExpression,
): DeclaredColumns | undefined {
  const columns: ts.Expression | undefined = definition.arguments[1];
  return columns === undefined ? undefined : readColumns(reader, { node: columns });
}

function readColumns(reader: LiteralReader, place: Place): DeclaredColumns | undefined {
  const lead = reader.follow(place);
  if (lead.kind === "package" && isTrellis(lead.module) && Object.hasOwn(SPREADABLE, lead.name)) {
    return authColumns(SPREADABLE[lead.name]);
  }
  if (lead.kind !== "place" || !ts.isObjectLiteralExpression(lead.node)) return undefined;
  const columns = new Map<string, DeclaredColumn>();
  for (const property of lead.node.properties) {
    if (ts.isSpreadAssignment(property)) {
      const spread = readColumns(reader, { node: property.expression, bindings: lead.bindings });
      if (spread === undefined) return undefined;
      for (const [key, column] of spread) columns.set(key, column);
      continue;
    }
    const column = ts.isPropertyAssignment(property)
      ? readColumn(reader, property.initializer)
      : undefined;
    if (
      column === undefined || property.name === undefined ||
      ts.isComputedPropertyName(property.name)
    ) {
      return undefined;
    }
    columns.set(property.name.getText().replace(/^["']|["']$/g, ""), column);
  }
  return columns;
}

/**
 * `text("nick").notNull()`; a column without a name in the text has one that the client's `casing`
 * decides.
 */
function readColumn(reader: LiteralReader, expression: ts.Expression): DeclaredColumn | undefined {
  const builder = getFirstCall(expression);
  const lead = builder && reader.follow({ node: builder.expression });
  if (builder === undefined || lead?.kind !== "package" || !lead.module.startsWith("drizzle-orm")) {
    return undefined;
  }
  const given = builder.arguments[0] as ts.Expression | undefined;
  const name = given && reader.read({ node: given });
  if (name?.kind !== "known" || typeof name.value !== "string") return undefined;
  return { name: name.value, isSetOnUpdate: /\.\$onUpdate(?:Fn)?\s*\(/.test(expression.getText()) };
}
