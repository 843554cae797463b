import { getTableColumns } from "drizzle-orm";
import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { type Evaluator, isTrellis, type ScopedExpression } from "./values.ts";
import { isDrizzle } from "./drizzle_tables.ts";
import { asObject } from "./object_literals.ts";
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
 * Returns the columns of a table of the auth package.
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
 * @returns The columns; `undefined` if any of them cannot be determined.
 */
export function readTableColumns(
  evaluator: Evaluator,
  definition: ts.CallExpression,
): DeclaredColumns | undefined {
  const columns: ts.Expression | undefined = definition.arguments[1];
  return columns === undefined ? undefined : readColumns(evaluator, { node: columns });
}

function readColumns(
  evaluator: Evaluator,
  { node, bindings }: ScopedExpression,
): DeclaredColumns | undefined {
  const value = evaluator.evaluate(node, bindings);
  if (
    value.kind === "package" && isTrellis(value.module) && Object.hasOwn(SPREADABLE, value.name)
  ) {
    return getAuthColumns(SPREADABLE[value.name]);
  }
  const object = asObject(value);
  if (object === undefined) return undefined;
  const columns = new Map<string, DeclaredColumn>();
  for (const property of object.node.properties) {
    if (ts.isSpreadAssignment(property)) {
      const spread = readColumns(evaluator, {
        node: property.expression,
        bindings: object.bindings,
      });
      if (spread === undefined) return undefined;
      for (const [key, column] of spread) columns.set(key, column);
      continue;
    }
    const column = ts.isPropertyAssignment(property)
      ? readColumn(evaluator, property.initializer)
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
function readColumn(evaluator: Evaluator, expression: ts.Expression): DeclaredColumn | undefined {
  const builder = getFirstCall(expression);
  const value = builder && evaluator.evaluate(builder.expression);
  if (builder === undefined || value?.kind !== "package" || !isDrizzle(value.module)) {
    return undefined;
  }
  const given = builder.arguments[0] as ts.Expression | undefined;
  const name = given && evaluator.readText(given);
  if (name === undefined) return undefined;
  return { name, isSetOnUpdate: /\.\$onUpdate(?:Fn)?\s*\(/.test(expression.getText()) };
}
