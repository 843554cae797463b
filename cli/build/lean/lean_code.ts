import type { Project, Target } from "../../analysis/project.ts";
import { isWithin } from "../../analysis/node_checks.ts";
import { type Edit, findNamespaceMember } from "../../analysis/slice_names.ts";
import { listBoundNames, type SourceModule } from "../../analysis/source_module.ts";
import { ts } from "../../analysis/typescript.ts";
import { type ValueVisitor, visitValues } from "../../analysis/value_references.ts";
import type { SourceStatement } from "../precompile_queries/find_statements.ts";
import { COMPILED } from "../precompile_queries/specifiers.ts";
import type { ModuleChanges } from "../precompile_queries/statement_code.ts";
import { isDrizzleExport } from "./drizzle_imports.ts";
import type { Constant } from "./find_constants.ts";
import type { SourceQuery } from "./find_queries.ts";
import type { SourceSchema } from "./find_schemas.ts";
import { AUTH_SCHEMA, KEPT, SCHEMA, TABLE } from "./specifiers.ts";

/** The parts of a module that are changed in a bundle without drizzle. */
export interface LeanModule {
  readonly module: SourceModule;
  readonly statements: readonly SourceStatement[];
  readonly constants: readonly Constant[];
  readonly queries: readonly SourceQuery[];
  readonly schemas: readonly SourceSchema[];
}

const PURE = "/* @__PURE__ */ ";

/**
 * Renders the changes of a module for a bundle without drizzle. Lines keep their numbers.
 *
 * @param render Renders the evaluated options of a query, or their tables.
 * @param isOmitted Checks whether a declaration is a constant that is omitted if it is not used.
 */
export function renderLeanChanges(
  project: Project,
  { module, statements, constants, queries, schemas }: LeanModule,
  render: (node: ts.Expression, addTable: (key: string) => string) => string | undefined,
  isOmitted: (node: ts.Node) => boolean,
): ModuleChanges {
  const edits: Edit[] = [];
  const imports: string[] = [];
  const names = new Map<string, string>();
  const replaced: ts.Node[] = [...constants];

  const importOnce = (specifier: string, member: string, prefix: string): string => {
    let name = names.get(specifier);
    if (name === undefined) {
      names.set(specifier, name = `${prefix}${names.size}`);
      imports.push(`import { ${member} as ${name} } from ${JSON.stringify(specifier)};`);
    }
    return name;
  };
  const addTable = (key: string) => importOnce(TABLE + key, "table", "__trellisTable");
  const insert = (at: number, text: string) => edits.push({ start: at, end: at, text });
  const replace = (node: ts.Node, code: string): void => {
    const lines = node.getText().replace(/[^\n]/g, "");
    edits.push({ start: node.getStart(), end: node.end, text: code + lines });
    replaced.push(node);
  };

  for (const { key, node, client } of statements) {
    const name = importOnce(COMPILED + key, "statement", "__trellisStatement");
    replace(node, `${name}(${client.name.getText()})`);
  }
  for (const { node, options, tables, isFunction } of queries) {
    const code = render(options, addTable);
    const tablesCode = code === undefined && tables ? render(tables, addTable) : undefined;
    if (code !== undefined) replace(options, code);
    else if (tablesCode !== undefined) replace(tables!, tablesCode);
    if (code !== undefined && isFunction) {
      insert(node.getStart(), `${PURE}(() => `);
      insert(node.end, ")()");
    } else insert(node.getStart(), PURE);
  }
  for (const { key, property, use } of schemas) {
    const specifier = (use === "auth" ? AUTH_SCHEMA : SCHEMA) + key;
    const name = importOnce(specifier, "schema", "__trellisSchemaOf");
    replace(property, `schema: ${name}`);
  }
  constants.forEach((constant, index) => addConstant(constant, index, insert));

  const visitor: ValueVisitor = {
    name: (name, isShorthand) => {
      if (!ts.isExportSpecifier(name.parent) && needsDrizzle(name)) mark(name, isShorthand);
    },
    member: (node) => {
      const isFound = needsDrizzle(node);
      if (isFound) mark(node, false);
      return isFound;
    },
    special: () => {},
  };
  for (const statement of module.source.statements) {
    if (!ts.isImportDeclaration(statement)) visitValues(statement, visitor);
  }
  return { edits, imports };

  function needsDrizzle(node: ts.Expression): boolean {
    if (isWithin(node, replaced)) return false;
    return isNeeding(findNamespaceMember(project, node));
  }

  function isNeeding(target: Target | undefined): boolean {
    if (target?.kind === "package") return isDrizzleExport(target.module, target.name);
    // a namespace as a value may be used for any of its members
    if (target?.kind === "namespace") {
      return project.getExportNames(target.module)
        .some((name) => isNeeding(project.findExport(target.module, name)));
    }
    if (target?.kind !== "declaration") return false;
    let declared: ts.Node = target.node;
    while (ts.isBindingElement(declared)) declared = declared.parent.parent;
    return isOmitted(declared);
  }

  /** Adds a call, so that the bundle shows whether this code is in it. */
  function mark(node: ts.Expression, isShorthand: boolean): void {
    const text = node.getText();
    const at = `${project.getPath(node)}:${project.getLine(node)}`;
    const target = findNamespaceMember(project, node);
    const from = target?.kind === "package" ? ` (${target.module})` : "";
    const name = importOnce(`${KEPT}${at}: ${text} is used${from}`, "kept", "__trellisKept");
    const start = node.getStart();
    insert(start, `${isShorthand ? `${text}: ` : ""}(${PURE}${name}(`);
    insert(node.end, "))");
  }
}

/** Makes the bundler omit a constant that is not used. */
function addConstant(
  { name, initializer, end }: Constant,
  index: number,
  insert: (at: number, text: string) => void,
): void {
  if (ts.isIdentifier(name)) {
    insert(initializer.getStart(), `${PURE}(() => (`);
    insert(initializer.end, "))()");
    return;
  }
  const names = listBoundNames(name).map(({ text }) => text);
  const all = `__trellisConstant${index}`;
  const members = names.map((each) => `${each} = ${PURE}(() => ${all}.${each})()`);
  insert(name.getStart(), `${all} = ${PURE}(() => { const `);
  insert(end, `; return { ${names.join(", ")} }; })(), ${members.join(", ")}`);
}
