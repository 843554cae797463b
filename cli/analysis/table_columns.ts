import { getTableColumns } from "drizzle-orm";
import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { isTrellis } from "./evaluate.ts";
import type { LiteralReader, ScopedExpression } from "./literals.ts";
import { getFirstCall } from "./serial_columns.ts";
import { ts } from "./typescript.ts";

/** A column in the definition of a drizzle table. */
export interface DeclaredColumn {
  /** The name in the database. */
  readonly name: string;
  /** True if drizzle sets it in each UPDATE that does not set it. */
  readonly isSetOnUpdate: boolean;
}

/** Columns by property name. */
export type DeclaredColumns = ReadonlyMap<string, DeclaredColumn>;

type Model = keyof typeof AUTH_SCHEMA_MAPPING;

/**
 * Returns the columns of one of the auth package's tables.
 *
 * @param model The table's key in `AuthConfig.schema`.
 */
export function getAuthColumns(model: Model): DeclaredColumns {
  const columns = Object.entries(getTableColumns(AUTH_SCHEMA_MAPPING[model]));
  return new Map(columns.map(([property, { name, onUpdateFn }]) => [property, {
    name,
    isSetOnUpdate: onUpdateFn !== undefined,
  }]));
}

/** Columns of this package that a custom table can spread, by the name of the constant. */
const SPREADABLE: Readonly<Record<string, Model>> = {
  AUTH_USER_COLUMNS: "user",
  AUTH_SESSION_COLUMNS: "session",
  AUTH_ACCOUNT_COLUMNS: "account",
  AUTH_VERIFICATION_COLUMNS: "verification",
};

/**
 * Reads the columns of a drizzle table from its definition: literal properties, and spreads of the
 * auth package's constants or of an object.
 *
 * @param reader Reads literals.
 * @param definition The call that creates the table.
 * @returns The columns; `undefined` if one of them cannot be determined.
 */
export function readTableColumns(
  reader: LiteralReader,
  definition: ts.CallExpression,
): DeclaredColumns | undefined {
  const columns: ts.Expression | undefined = definition.arguments[1];
  return columns === undefined ? undefined : readColumns(reader, { node: columns });
}

function readColumns(
  reader: LiteralReader,
  expression: ScopedExpression,
): DeclaredColumns | undefined {
  const resolution = reader.follow(expression);
  if (
    resolution.kind === "package" && isTrellis(resolution.module) &&
    Object.hasOwn(SPREADABLE, resolution.name)
  ) {
    return getAuthColumns(SPREADABLE[resolution.name]);
  }
  if (resolution.kind !== "expression" || !ts.isObjectLiteralExpression(resolution.node)) {
    return undefined;
  }
  const columns = new Map<string, DeclaredColumn>();
  for (const property of resolution.node.properties) {
    if (ts.isSpreadAssignment(property)) {
      const spread = readColumns(reader, {
        node: property.expression,
        bindings: resolution.bindings,
      });
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
 * Reads a column such as `text("nick").notNull()`. Without a name in the definition, the `casing`
 * of the client determines the name, so the result is `undefined`.
 */
function readColumn(reader: LiteralReader, expression: ts.Expression): DeclaredColumn | undefined {
  const builder = getFirstCall(expression);
  const resolution = builder && reader.follow({ node: builder.expression });
  if (
    builder === undefined || resolution?.kind !== "package" ||
    !resolution.module.startsWith("drizzle-orm")
  ) {
    return undefined;
  }
  const given = builder.arguments[0] as ts.Expression | undefined;
  const name = given && reader.read({ node: given });
  if (name?.kind !== "known" || typeof name.value !== "string") return undefined;
  return { name: name.value, isSetOnUpdate: /\.\$onUpdate(?:Fn)?\s*\(/.test(expression.getText()) };
}
