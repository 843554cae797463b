import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import {
  isPermissionStatement,
  type PermissionStatement,
  readAction,
  WHOLE_TABLE_COMMENT,
} from "./permission_statement.ts";
import {
  type PermissionVariables,
  substituteVariables,
  type UnusableVariable,
} from "./substitute.ts";

interface PermissionFile {
  name: string;
  text: string;
}

/**
 * Reads the permission files of a folder: every `.sql` file in the order of the names, with
 * `${NAME}` replaced.
 *
 * @param folder The folder's path.
 * @param variables Values for `${NAME}`, such as `process.env`.
 * @returns The statements, in order; nothing is run.
 * @throws {ConfigurationError} If the folder cannot be read or has no statement, or if variables
 * are missing or invalid. One error lists all variables.
 */
export function readPermissionFiles(
  folder: string,
  variables: PermissionVariables,
): PermissionStatement[] {
  const files = readFolder(folder);
  const unusable: { file: string; variable: UnusableVariable }[] = [];
  const statements: PermissionStatement[] = [];
  for (const { name, text } of files) {
    const { sql, unusable: found } = substituteVariables(text, variables);
    unusable.push(...found.map((variable) => ({ file: name, variable })));
    if (found.length > 0) continue;
    for (const statement of readStatements(name, sql)) statements.push(statement);
  }
  if (unusable.length > 0) throw unusableError(unusable);
  if (statements.length === 0) {
    throw new ConfigurationError(
      `The permissions folder ${JSON.stringify(folder)} has no statement in any .sql file`,
    );
  }
  return statements;
}

function readFolder(folder: string): PermissionFile[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".sql")).sort();
  } catch (cause) {
    throw new ConfigurationError(
      `The permissions folder ${JSON.stringify(folder)} cannot be read: check the path`,
      {
        cause,
      },
    );
  }
  // names appear in log lines and error messages
  const unfit = names.find((name) => /\p{Cc}/u.test(name));
  if (unfit !== undefined) {
    throw new ConfigurationError(
      `The permission file ${JSON.stringify(unfit)} has a control character in its name: rename it`,
    );
  }
  return names.map((name) => {
    try {
      return {
        name,
        text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(join(folder, name))),
      };
    } catch (cause) {
      throw new ConfigurationError(`The permission file ${name} cannot be read: save it as UTF-8`, {
        cause,
      });
    }
  });
}

function readStatements(file: string, sql: string): PermissionStatement[] {
  return splitStatements(sql).map(({ tokens, start }) => {
    const reader = new StatementReader(tokens);
    // comments before a statement are part of it
    const leading = tokens.slice(0, reader.places[0]);
    const before = leading.reduce((length, token) => length + token.text.length, 0);
    const line = sql.slice(0, start + before).split("\n").length;
    const text = reader.text(0, reader.size);
    return {
      source: { file, line },
      sql: text,
      title: summarizePermission(reader),
      action: readAction(reader),
      isPermission: isPermissionStatement(reader),
      isWholeTableOnDistSql: leading.some(({ kind, text }) =>
        kind === "line_comment" && text.trimEnd() === WHOLE_TABLE_COMMENT
      ),
    };
  });
}

/** Returns the first words of a statement, which contain no secret. */
function summarizePermission(reader: StatementReader): string {
  const words: string[] = [];
  for (let at = 0; at < 3 && reader.token(at)?.kind === "word"; at++) words.push(reader.key(at));
  const lengths: Record<string, number> = { AWS: 3, CREATE: 2, ALTER: 2, DROP: 2 };
  return words.slice(0, lengths[words[0]] ?? 1).join(" ");
}

/** Creates one error for all variables, without values, which may be secrets. */
function unusableError(
  unusable: readonly { file: string; variable: UnusableVariable }[],
): ConfigurationError {
  const places = (isMissing: boolean): string[] => {
    const byName = new Map<string, string>();
    for (const { file, variable: { name, line, why } } of unusable) {
      if ((why === undefined) !== isMissing || byName.has(name)) continue;
      byName.set(name, `${name} (${file}:${line})${why === undefined ? "" : ` ${why}`}`);
    }
    return [...byName.values()];
  };
  const [missing, unfit] = [places(true), places(false)];
  const parts = [
    ...missing.length === 0
      ? []
      : [`set these environment variables, which the files use: ${missing.join(", ")}`],
    ...unfit.length === 0
      ? []
      : [`these values would change the structure of their statements: ${unfit.join("; ")}`],
  ];
  return new ConfigurationError(`The permission files cannot be used: ${parts.join("; ")}`, {
    details: { variables: [...new Set(unusable.map(({ variable }) => variable.name))] },
  });
}
