import { readTableColumns } from "../analysis/table_columns.ts";
import { PACKAGE_TABLES } from "../grants/auth_tables.ts";
import { createEvaluator } from "../analysis/evaluate.ts";
import { Project } from "../analysis/project.ts";
import { getFirstCall } from "../analysis/serial_columns.ts";
import { ts } from "../analysis/typescript.ts";
import type { Evaluator } from "../analysis/values.ts";
import type { AuthColumn, AuthIndex, AuthTable } from "./auth_table.ts";
import {
  type Imports,
  listImports,
  renderColumn,
  renderEntry,
  renderImport,
  renderIndex,
  renderMapping,
  renderTable,
} from "./render_tables.ts";

/** The changes of a file with tables. */
export interface SchemaEdit {
  /** The new text. */
  readonly text: string;
  /** Added tables and columns: `members`, `users.role`. */
  readonly added: readonly string[];
  /** Differences that the edit does not resolve. */
  readonly findings: readonly string[];
  /** Tables and columns that no option or plugin needs. They are kept. */
  readonly kept: readonly string[];
}

interface Insertion {
  readonly at: number;
  readonly end?: number;
  readonly text: string;
}

/** A table that the file defines. */
interface PresentTable {
  readonly name: string;
  readonly call: ts.CallExpression;
  readonly columns: ReadonlyMap<string, { readonly name: string }> | undefined;
}

/**
 * Adds missing tables and columns to a file. Everything else in the file stays.
 *
 * @param file Absolute path of the file.
 * @returns The new text.
 * @throws {SyntaxError} If the file cannot be parsed.
 */
export function editSchemaFile(
  root: string,
  file: string,
  tables: readonly AuthTable[],
): SchemaEdit {
  const project = new Project(root);
  const { source } = project.read(file);
  const present = listTables(source, createEvaluator(project, PACKAGE_TABLES));
  const edits = tables.map((table) => ({ table, edit: editTable(table, present.get(table.name)) }));
  const added = edits.filter(({ edit }) => edit.isNew).map(({ table }) => table);
  const mapping = editMapping(source, tables);
  const end = mapping.start ?? source.text.length;
  const insertions = [
    ...edits.flatMap(({ edit }) => edit.insertions),
    ...added.map((table) => ({ at: end, text: `${renderTable(table)}\n` })),
    ...mapping.insertions,
  ];
  const columns = [
    ...edits.flatMap(({ edit }) => edit.columns),
    ...added.flatMap((table) =>
      table.columns.filter(({ property }) => !table.spreadProperties.has(property))
    ),
  ];
  const indexes = [
    ...edits.flatMap(({ edit }) => edit.indexes),
    ...added.flatMap((table) => table.indexes),
  ];
  const imports = listImports(added, columns, indexes);
  return {
    text: applyInsertions(source.text, [...insertions, ...editImports(source, imports)]),
    added: edits.flatMap(({ table, edit }) =>
      edit.isNew ? [table.name] : edit.columns.map(({ name }) => `${table.name}.${name}`)
    ),
    findings: edits.flatMap(({ edit }) => edit.findings),
    kept: [...mapping.kept, ...listKeptColumns(tables, present)],
  };
}

function listTables(source: ts.SourceFile, evaluator: Evaluator): Map<string, PresentTable> {
  const found = new Map<string, PresentTable>();
  function visit(node: ts.Node): void {
    if (
      ts.isCallExpression(node) && /(?:^|\.)(?:pgTable|table)$/.test(node.expression.getText()) &&
      node.arguments.length > 1 && ts.isStringLiteralLike(node.arguments[0])
    ) {
      const name = node.arguments[0].text;
      found.set(name, { name, call: node, columns: readTableColumns(evaluator, node) });
    }
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found;
}

interface TableEdit {
  readonly isNew: boolean;
  readonly insertions: readonly Insertion[];
  readonly columns: readonly AuthColumn[];
  readonly indexes: readonly AuthIndex[];
  readonly findings: readonly string[];
}

const NO_EDIT: TableEdit = { isNew: false, insertions: [], columns: [], indexes: [], findings: [] };

function editTable(table: AuthTable, present: PresentTable | undefined): TableEdit {
  if (present === undefined) return { ...NO_EDIT, isNew: true };
  if (present.columns === undefined) {
    return {
      ...NO_EDIT,
      findings: [`${table.name}: its columns cannot be read from the file; compare it yourself`],
    };
  }
  const { columns: declared, call } = present;
  const missing = table.columns.filter(({ property }) => !declared.has(property));
  const properties = new Set(missing.map(({ property }) => property));
  const indexes = table.indexes.filter((index) =>
    index.properties.some((each) => properties.has(each))
  );
  const findings = findOtherTypes(table, call);
  const placed = missing.length === 0 ? [] : insertColumns(call.arguments[1], missing);
  const extra = indexes.length === 0 ? [] : insertIndexes(call, indexes);
  if (placed === undefined || extra === undefined) {
    return {
      ...NO_EDIT,
      findings: [
        ...findings,
        `${table.name} lacks ${
          missing.map(({ property, code }) => `${property}: ${code}`).join(", ")
        }: its definition is not an object literal, so add ${
          missing.length === 1 ? "it" : "them"
        } yourself`,
      ],
    };
  }
  return { isNew: false, insertions: [...placed, ...extra], columns: missing, indexes, findings };
}

function insertColumns(
  node: ts.Expression,
  columns: readonly AuthColumn[],
): Insertion[] | undefined {
  // a required column is empty in rows that exist, see planMigration
  const lines = columns.map((column) =>
    renderColumn(
      column.default === undefined && column.isRequired
        ? { ...column, code: column.code.replace(".notNull()", "") }
        : column,
    )
  ).join("\n");
  if (ts.isIdentifier(node)) {
    const text = `{\n  ...${node.text},\n${lines}\n}`;
    return [{ at: node.getStart(), end: node.end, text }];
  }
  return ts.isObjectLiteralExpression(node)
    ? [insertLines(node, node.properties, lines)]
    : undefined;
}

/** Inserts lines after the last entry of an object or array. */
function insertLines(
  node: ts.Node,
  entries: ts.NodeArray<ts.Node>,
  lines: string,
): Insertion {
  const last = entries.at(-1);
  if (last === undefined) return { at: node.end - 1, text: `\n${lines}\n` };
  return entries.hasTrailingComma
    ? { at: entries.end, text: `\n${lines}` }
    : { at: last.end, text: `,\n${lines}` };
}

function insertIndexes(
  call: ts.CallExpression,
  indexes: readonly AuthIndex[],
): Insertion[] | undefined {
  const lines = indexes.map((index) => `  ${renderIndex(index)},`).join("\n");
  const extra = call.arguments[2];
  if (extra === undefined) {
    return [{ at: call.arguments[1].end, text: `, (table) => [\n${lines}\n]` }];
  }
  if (!ts.isArrowFunction(extra) || !ts.isArrayLiteralExpression(extra.body)) return undefined;
  const [parameter] = extra.parameters;
  return parameter?.name.getText() === "table"
    ? [insertLines(extra.body, extra.body.elements, lines)]
    : undefined;
}

/** drizzle's functions whose columns store the same values for better-auth. */
const KINDS: readonly (readonly string[])[] = [
  ["text", "varchar", "char", "uuid"],
  ["bigint", "integer", "smallint", "numeric", "serial", "bigserial"],
  ["json", "jsonb"],
];

function findOtherTypes(table: AuthTable, call: ts.CallExpression): string[] {
  const node = call.arguments[1];
  if (!ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((property) => {
    if (!ts.isPropertyAssignment(property)) return [];
    const column = table.columns.find((each) => each.property === property.name.getText());
    const builder = getFirstCall(property.initializer)?.expression.getText();
    if (column === undefined || builder === undefined || builder === column.builder) return [];
    const isSame = KINDS.some((kind) => kind.includes(builder) && kind.includes(column.builder));
    return isSame ? [] : [
      `${table.name}.${column.property} is ${builder}() in the file, but ${column.builder}() is needed: change it yourself`,
    ];
  });
}

interface MappingEdit {
  /** Position of the statement, where new tables are inserted. */
  readonly start?: number;
  readonly insertions: readonly Insertion[];
  readonly kept: readonly string[];
}

function editMapping(source: ts.SourceFile, tables: readonly AuthTable[]): MappingEdit {
  const statement = source.statements.find((node): node is ts.VariableStatement =>
    ts.isVariableStatement(node) &&
    node.declarationList.declarations.some(({ name }) => name.getText() === "authSchema")
  );
  const value = statement?.declarationList.declarations[0].initializer;
  if (statement === undefined || value === undefined || !ts.isObjectLiteralExpression(value)) {
    const isMissing = statement === undefined;
    return {
      insertions: isMissing ? [{ at: source.text.length, text: renderMapping(tables) }] : [],
      kept: [],
    };
  }
  const keys = value.properties.map((property) => property.name?.getText().replaceAll('"', ""));
  const missing = tables.filter(({ model }) => !keys.includes(model));
  const models = new Set(tables.map(({ model }) => model));
  const lines = missing.map((table) => `  ${renderEntry(table)},`).join("\n");
  return {
    start: statement.getFullStart() + getLeadingSpace(statement),
    insertions: missing.length === 0 ? [] : [insertLines(value, value.properties, lines)],
    kept: keys.filter((key) => key !== undefined && !models.has(key)).map((key) =>
      `the table under the key ${key}`
    ),
  };
}

/** Returns the length of the line breaks before a statement and its comment. */
function getLeadingSpace(node: ts.Node): number {
  const text = node.getFullText();
  return text.length - text.trimStart().length;
}

function listKeptColumns(
  tables: readonly AuthTable[],
  present: ReadonlyMap<string, PresentTable>,
): string[] {
  return tables.flatMap((table) => {
    const needed = new Set(table.columns.map(({ property }) => property));
    const columns = [...present.get(table.name)?.columns?.keys() ?? []];
    return columns.filter((property) => !needed.has(property)).map((property) =>
      `${table.name}.${property}`
    );
  });
}

function editImports(source: ts.SourceFile, needed: Imports): Insertion[] {
  const last = source.statements.findLast((node) => ts.isImportDeclaration(node));
  return [...needed].flatMap(([module, names]) => {
    if (names.size === 0) return [];
    const found = source.statements.find((node): node is ts.ImportDeclaration =>
      ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) &&
      node.moduleSpecifier.text === module && node.importClause?.isTypeOnly !== true &&
      node.importClause?.namedBindings !== undefined &&
      ts.isNamedImports(node.importClause.namedBindings)
    );
    const bindings = found?.importClause?.namedBindings as ts.NamedImports | undefined;
    const present = bindings?.elements.map((element) => element.getText()) ?? [];
    if ([...names].every((name) => present.includes(name))) return [];
    const text = renderImport(module, [...present, ...names]);
    if (found !== undefined) return [{ at: found.getStart(), end: found.end, text }];
    return [{ at: last?.end ?? 0, text: last === undefined ? `${text}\n` : `\n${text}` }];
  });
}

function applyInsertions(text: string, insertions: readonly Insertion[]): string {
  let result = text;
  const ordered = insertions.map((insertion, place) => ({ ...insertion, place }))
    .sort((a, b) => b.at - a.at || b.place - a.place);
  for (const { at, end = at, text } of ordered) {
    result = result.slice(0, at) + text + result.slice(end);
  }
  return result;
}
