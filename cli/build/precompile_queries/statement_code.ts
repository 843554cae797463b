import type { Edit } from "../../analysis/slice_names.ts";
import type { ts } from "../../analysis/typescript.ts";
import type { CellSource, ParameterSource, StatementSource } from "./describe_statement.ts";
import type { SourceStatement } from "./find_statements.ts";
import { CODECS, COMPILED, LEAN_RUNTIME, RUNTIME } from "./specifiers.ts";

/**
 * Renders the module of a statement.
 *
 * @param key The key of its builders in the file with drizzle, for a bundle without drizzle.
 */
export function renderStatement(statement: StatementSource, key?: string): string {
  const { name, text, params, cells, notNullable, metadata } = statement;
  const used = [...params, ...cells ?? []].flatMap(listCodecs);
  const codecs = [...new Set(used)].sort().join(", ");
  const members: Record<string, string | undefined> = {
    name: JSON.stringify(name),
    text: renderText(text),
    params: renderLines(params.map(renderParameter)),
    cells: cells && renderLines(cells.map(renderCell)),
    notNullable: JSON.stringify(notNullable),
    metadata: JSON.stringify(metadata),
  };
  const lines = Object.entries(members).filter(([, code]) => code !== undefined)
    .map(([key, code]) => `  ${key}: ${code},\n`);
  return `${codecs === "" ? "" : `import { ${codecs} } from ${JSON.stringify(CODECS)};\n`}\
import { definePrecompiledStatement } from ${
    JSON.stringify(key === undefined ? RUNTIME : LEAN_RUNTIME)
  };

export const statement = /* @__PURE__ */ definePrecompiledStatement({
${lines.join("")}}${key === undefined ? "" : `, ${JSON.stringify(key)}`});
`;
}

const GLOBAL_CODECS: ReadonlySet<string> = new Set(["Number", "String", "BigInt"]);

/** Renders SQL, whose names are in double quotes, without escapes where possible. */
function renderText(text: string): string {
  const quoted = JSON.stringify(text);
  const isPlain = quoted.replaceAll('\\"', '"') === `"${text}"`;
  return isPlain && !/`|\$\{/.test(text) ? `\`${text}\`` : quoted;
}

function listCodecs(part: ParameterSource | CellSource): string[] {
  return listCodecNames("encode" in part ? part.encode : (part as CellSource).decode);
}

/** Lists the functions in the code of a codec that are imported: `decodeArray(decodeDate)`. */
export function listCodecNames(code: string | undefined): string[] {
  const names = code?.split(/[()]/).filter((name) => name !== "") ?? [];
  return names.filter((name) => !GLOBAL_CODECS.has(name));
}

function renderParameter(param: ParameterSource): string {
  if ("value" in param) {
    const { value } = param;
    return renderObject({ value: typeof value === "bigint" ? `${value}n` : renderConstant(value) });
  }
  return renderObject({ placeholder: JSON.stringify(param.placeholder), encode: param.encode });
}

function renderConstant(value: string | number | boolean | null): string {
  return Object.is(value, -0) ? "-0" : JSON.stringify(value);
}

function renderCell({ path, decode, table, isJson }: CellSource): string {
  return renderObject({
    path: JSON.stringify(path),
    decode,
    table: JSON.stringify(table),
    isJson: JSON.stringify(isJson),
  });
}

function renderObject(members: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(members).filter(([, code]) => code !== undefined);
  return `{ ${given.map(([key, code]) => `${key}: ${code}`).join(", ")} }`;
}

function renderLines(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `[\n${items.map((item) => `    ${item},\n`).join("")}  ]`;
}

/** The changes that make a module use its compiled statements. Lines keep their numbers. */
export interface ModuleChanges {
  readonly edits: readonly Edit[];
  /** Lines for the end of the module. */
  readonly imports: readonly string[];
}

/**
 * Renders the changes of a module. The builders stay, for clients and servers that need them.
 *
 * @param statements The compiled statements.
 * @param queries The queries that can be omitted if they are not used.
 */
export function renderChanges(
  statements: readonly SourceStatement[],
  queries: readonly ts.CallExpression[],
): ModuleChanges {
  const edits: Edit[] = queries.map((node) => {
    const start = node.getStart();
    return { start, end: start, text: "/* @__PURE__ */ " };
  });
  const imports: string[] = [];
  statements.forEach(({ key, node, client }, index) => {
    const name = `__trellisStatement${index}`;
    const start = node.getStart();
    imports.push(`import { statement as ${name} } from ${JSON.stringify(COMPILED + key)};`);
    edits.push({ start, end: start, text: `${name}(${client.name.getText()}, () => ` });
    edits.push({ start: node.end, end: node.end, text: ")" });
  });
  return { edits, imports };
}
