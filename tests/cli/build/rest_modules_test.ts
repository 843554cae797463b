import { assert, assertEquals } from "@std/assert";
import { posix } from "node:path";
import { ts } from "../../../cli/analysis/typescript.ts";
import {
  COPIED_MODULES,
  REST_MODULES,
  type RestModule,
} from "../../../cli/build/rest/rest_modules.ts";

const ROOT = new URL("../../../", import.meta.url);

const read = (module: string): ts.SourceFile =>
  ts.createSourceFile(
    `${module}.ts`,
    Deno.readTextFileSync(new URL(`${module}.ts`, ROOT)),
    ts.ScriptTarget.Latest,
    true,
  );

/** Lists the values that a module imports, by module. */
function readImports(module: string): Map<string, string[]> {
  const imports = new Map<string, string[]>();
  for (const statement of read(module).statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    const { importClause, moduleSpecifier } = statement;
    if (importClause?.isTypeOnly || importClause?.namedBindings === undefined) continue;
    const bindings = importClause.namedBindings;
    assert(ts.isNamedImports(bindings), `${module} imports a namespace`);
    const names = bindings.elements.filter(({ isTypeOnly }) => !isTypeOnly)
      .map(({ name, propertyName }) => (propertyName ?? name).text);
    const { text } = moduleSpecifier as ts.StringLiteral;
    if (names.length === 0) continue;
    assert(text.startsWith("."), `${module} imports the package ${text}`);
    imports.set(posix.join(posix.dirname(module), text).replace(/\.ts$/, ""), names);
  }
  return imports;
}

/** Describes a module as {@link REST_MODULES} does. */
function describe(module: string): RestModule {
  const imports = [...readImports(module)].filter(([from]) => !COPIED_MODULES.has(from));
  const functions = read(module).statements.filter(ts.isFunctionDeclaration)
    .filter(({ modifiers, body }) =>
      body !== undefined && modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    );
  const uses = imports.map(([from]) => from).filter((from) => Object.hasOwn(REST_MODULES, from));
  const shared = imports.filter(([from]) => !Object.hasOwn(REST_MODULES, from));
  return {
    functions: functions.map(({ name }) => name!.text),
    ...uses.length > 0 && { uses: uses.sort() },
    ...shared.length > 0 && { shared: Object.fromEntries(shared) },
  };
}

Deno.test("REST_MODULES describes the sources", () => {
  const expected = Object.fromEntries(
    Object.entries(REST_MODULES).map(([module, { unless }]) => [
      module,
      { ...describe(module), ...unless && { unless } },
    ]),
  );
  const sorted = Object.fromEntries(
    Object.entries(REST_MODULES).map(([module, { uses, ...rest }]) => [
      module,
      { ...rest, ...uses && { uses: [...uses].sort() } },
    ]),
  );
  assertEquals(sorted, expected);
});

Deno.test("modules of rest.cjs share values only under the same names", () => {
  const modules = new Map<string, string>();
  for (const { shared = {} } of Object.values(REST_MODULES)) {
    for (const [from, names] of Object.entries(shared)) {
      for (const name of names) {
        assertEquals(modules.get(name) ?? from, from, name);
        modules.set(name, from);
      }
    }
  }
  const functions = Object.values(REST_MODULES).flatMap((each) => each.functions);
  assertEquals(functions.length, new Set(functions).size);
});

Deno.test("a module that a bundle may contain is only imported by such modules of rest.cjs", () => {
  for (const [module, { uses = [], unless }] of Object.entries(REST_MODULES)) {
    for (const used of uses) {
      const other = REST_MODULES[used].unless;
      if (other !== undefined) assertEquals(unless, other, `${module} imports ${used}`);
    }
  }
});

Deno.test("modules of rest.cjs do not use values of the bundle while they are loaded", () => {
  for (const [module, { shared = {} }] of Object.entries(REST_MODULES)) {
    const names = new Set(Object.values(shared).flat());
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) || ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
      if (ts.isIdentifier(node)) assert(!names.has(node.text), `${module} uses ${node.text}`);
      ts.forEachChild(node, visit);
    };
    visit(read(module));
  }
});

Deno.test("modules of rest.cjs load no packages", () => {
  // a package that the build cannot find may be missing in a bundle, but not in rest.cjs
  for (const module of Object.keys(REST_MODULES)) {
    const visit = (node: ts.Node): void => {
      const isLoad = ts.isCallExpression(node) &&
        node.expression.kind === ts.SyntaxKind.ImportKeyword;
      assert(!isLoad, module);
      ts.forEachChild(node, visit);
    };
    visit(read(module));
  }
});

Deno.test("modules that both files contain have no state and import only such modules", () => {
  for (const module of COPIED_MODULES) {
    for (const from of readImports(module).keys()) assert(COPIED_MODULES.has(from), from);
    for (const statement of read(module).statements) {
      if (!ts.isVariableStatement(statement)) continue;
      for (const { initializer } of statement.declarationList.declarations) {
        assert(initializer && ts.isLiteralExpression(initializer), module);
      }
    }
  }
});
