import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { API_KEY_COLUMNS } from "../../../auth/api_key_options.ts";
import { isJsonField } from "../../../database/session/column_decoder.ts";
import { Codecs, type DrizzleModules, NotCompiled } from "../precompile_queries/codecs.ts";
import { CODECS } from "../precompile_queries/specifiers.ts";
import { listCodecNames } from "../precompile_queries/statement_code.ts";
import { RUNTIME } from "./specifiers.ts";

/** The columns of a model for which the statements of auth need more than a name. */
interface ModelUse {
  /** Columns that are read; all if they are not listed. */
  readonly read?: readonly string[];
  /** Columns with which values are compared, or to which they are written. */
  readonly write?: readonly string[];
  /** Columns whose type in the database is compared with that of another one. */
  readonly typed?: readonly string[];
  /** Columns with `$onUpdate` which the statements handle. */
  readonly updated?: readonly string[];
}

const MODELS: Readonly<Record<string, ModelUse>> = {
  user: { typed: ["id"] },
  session: {
    write: ["token", "expiresAt", "updatedAt"],
    typed: ["activeOrganizationId"],
    updated: ["expiresAt", "updatedAt"],
  },
  organization: { read: ["id", "name", "slug"], typed: ["id"] },
  member: { read: ["id", "role"], typed: ["organizationId", "userId"] },
  apikey: { read: API_KEY_COLUMNS, write: API_KEY_COLUMNS, updated: ["updatedAt"] },
};

/** Models whose tables one statement joins. */
const JOINED = ["user", "session", "organization", "member"];

/** Columns of sessions whose type `AuthConfig` checks. */
const CHECKED = ["createdAt", "updatedAt", "expiresAt"];

type Tables = Readonly<Record<string, unknown>>;

/** Renders the tables of configurations of auth as code without drizzle. */
export class AuthSchemaRenderer {
  readonly #drizzle: DrizzleModules;
  readonly #codecs: Codecs;

  /** @param drizzle The project's drizzle. */
  constructor(drizzle: DrizzleModules) {
    this.#drizzle = drizzle;
    this.#codecs = new Codecs(drizzle);
  }

  /**
   * Renders the module of a schema.
   *
   * @param key The key of drizzle's tables in the second file.
   * @param tables The evaluated tables by model.
   * @returns The code.
   * @throws {NotCompiled} If a statement of auth cannot be written for a table.
   */
  render(key: string, tables: Tables): string {
    this.#checkNames(tables);
    const used = new Set<string>();
    const members = Object.entries(tables).map(([model, table]) =>
      `  ${JSON.stringify(model)}: ${this.#renderValue(model, table, used)},\n`
    );
    const hasSessions = "user" in tables || "session" in tables;
    const codecs = [...used].sort().join(", ");
    return `import { defineAuthTable } from ${JSON.stringify(`${RUNTIME}authTable`)};
import { loadDrizzle } from ${JSON.stringify(`${RUNTIME}loadDrizzle`)};
${
      hasSessions
        ? `import { useOwnSessions } from ${JSON.stringify(`${RUNTIME}ownSessions`)};\n`
        : ""
    }\
${codecs === "" ? "" : `import { ${codecs} } from ${JSON.stringify(CODECS)};\n`}\
const load = (model) => () => loadDrizzle().schemas[${JSON.stringify(key)}][model];
export const schema = /* @__PURE__ */ (() => {
  ${hasSessions ? "useOwnSessions();" : ""}
  return {
${members.join("")}  };
})();
`;
  }

  /** drizzle refuses to join tables with one name, or separates them by their schema only. */
  #checkNames(tables: Tables): void {
    const names = JOINED.filter((model) => this.#isTable(tables[model]))
      .map((model) => this.#drizzle.core.getTableName(tables[model] as PgTable));
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) throw new NotCompiled(`two tables have the name ${twice}`);
  }

  /** A value that is not a table is refused by the checks of the configuration, or not read. */
  #renderValue(model: string, table: unknown, used: Set<string>): string {
    if (!this.#isTable(table)) return table === undefined ? "undefined" : "null";
    const { name, schema } = this.#drizzle.pg.getTableConfig(table);
    const columns = Object.entries(this.#drizzle.core.getTableColumns(table)) as [
      string,
      PgColumn,
    ][];
    const members = columns.map(([property, column]) => {
      if (property === "__proto__") throw new NotCompiled(`${model} has a column __proto__`);
      return `    ${JSON.stringify(property)}: ${
        this.#renderColumn(model, property, column, used)
      },`;
    });
    return `defineAuthTable(${JSON.stringify(name)}, {
${members.join("\n")}
  }, ${JSON.stringify(schema)}, load(${JSON.stringify(model)}))`;
  }

  #renderColumn(model: string, property: string, column: PgColumn, used: Set<string>): string {
    const use = MODELS[model] ?? { read: [] };
    const { read, write = [], typed = [], updated } = use;
    try {
      if (column.onUpdateFn !== undefined && updated?.includes(property) === false) {
        throw new NotCompiled("it has $onUpdate");
      }
      const isRead = read === undefined || read.includes(property);
      const decode = isRead ? this.#codecs.getDecoder(column)?.code : undefined;
      const encode = write.includes(property) ? this.#codecs.getEncoder(column)?.code : undefined;
      for (const code of [decode, encode]) listCodecNames(code).forEach((each) => used.add(each));
      const isChecked = model === "session" && CHECKED.includes(property);
      const members: Readonly<Record<string, string | undefined>> = {
        name: JSON.stringify(column.name),
        dataType: isChecked ? JSON.stringify(column.dataType) : undefined,
        sqlType: typed.includes(property) ? JSON.stringify(column.getSQLType()) : undefined,
        decode,
        encode,
        isJson: isRead && isJsonField(column) ? "true" : undefined,
        isUpdated: column.onUpdateFn !== undefined && model === "apikey" ? "true" : undefined,
      };
      const given = Object.entries(members).filter(([, code]) => code !== undefined);
      if (given.length === 1) return members.name!;
      return `{ ${given.map(([name, code]) => `${name}: ${code}`).join(", ")} }`;
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      throw new NotCompiled(`${model}.${property}: ${error.message}`);
    }
  }

  #isTable(value: unknown): value is PgTable {
    return this.#drizzle.core.is(value, this.#drizzle.pg.PgTable);
  }
}
