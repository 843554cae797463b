/**
 * Tools for SQL of Aurora DSQL and PostgreSQL: statements and tokens, the dated capabilities of the
 * provider, and the translation of whole files with their positions. The functions of a migration
 * are in `./database`.
 *
 * @example
 * ```ts
 * import { translateSources } from "@trellis/fn/distsql";
 *
 * const [file] = translateSources([{ name: "a.sql", sql: "CREATE INDEX ON notes (title DESC);" }], {});
 * console.log(file.statements.map(({ line, steps }) => [line, steps.length])); // [[1, 1]]
 * ```
 *
 * @module
 */
export {
  CAPABILITIES_AS_OF,
  DIST_SQL_CAPABILITIES,
  DIST_SQL_SOURCES,
  type DistSqlCapability,
  type DistSqlCapabilityName,
  type DistSqlSource,
  hasCapability,
  type IsoDay,
} from "./registry/capabilities.ts";
export { isActiveOn } from "./registry/incompatibilities.ts";
export {
  type LocatedStatement,
  type SqlSource,
  type TranslatedSource,
  translateSources,
} from "./findings/translate_sources.ts";
export type { TranslatedStatement } from "./translate/translate_text.ts";
export { splitStatements, type SqlStatement, STATEMENT_BREAKPOINT } from "../sql/statement.ts";
export type { TextPosition } from "../sql/text_position.ts";
export { type SqlToken, type SqlTokenKind, tokenize } from "../sql/tokenize.ts";
