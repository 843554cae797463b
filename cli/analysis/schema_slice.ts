import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { listAssignments } from "./assignments.ts";
import type { Project, Target } from "./project.ts";
import { isAssigned, isEnumMember, isLeftmostOfNew, isWithin } from "./node_checks.ts";
import { PURE_GLOBALS } from "./pure_globals.ts";
import { getRegistrations } from "./schema_registrations.ts";
import { type Declaration, findDeclaration } from "./scopes.ts";
import type { Slice, SliceGuard, SlicePackage, SliceUnit, SourceLocation } from "./slice.ts";
import { listBoundNames, type SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";
import { visitValues } from "./value_references.ts";

/** Collects expressions with everything needed to evaluate them. */
export interface Slicer {
  /**
   * Adds an expression to the slice.
   *
   * @returns The index of its unit.
   */
  add(expression: ts.Expression): number;
  /** Returns the slice. */
  finish(): Slice;
}

interface Unit extends SliceUnit {
  body: string;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A prefix that no source uses. */
const UNIT = "__slice_";

/**
 * Creates the slicer of a project. It extracts an expression together with the declarations it
 * needs, from any file. Other statements of these files are not part of the slice.
 *
 * @param project The sources.
 * @returns The slicer.
 */
export function createSlicer(project: Project): Slicer {
  const units: Unit[] = [];
  const guards: SliceGuard[] = [];
  const packages: SlicePackage[] = [];
  const unitsByKey: Map<ts.Node | SourceModule | string, number> = new Map();
  const packageIndexes: Map<string, number> = new Map();
  const pending: (() => void)[] = [];

  const getLocation = (node: ts.Node): SourceLocation => ({
    file: project.getPath(node),
    line: project.getLine(node),
  });

  /**
   * Adds a unit. Its code is generated later, not recursively, because chains of declarations may
   * be long.
   */
  function reserve(
    key: ts.Node | SourceModule | string,
    unit: SliceUnit,
    write: () => string,
  ): number {
    const known = unitsByKey.get(key);
    if (known !== undefined) return known;
    const index = units.push({ ...unit, body: "" }) - 1;
    unitsByKey.set(key, index);
    pending.push(() => units[index].body = write());
    return index;
  }

  const call = (index: number): string => `${UNIT}${index}()`;

  function guard(node: ts.Node, message: string): string {
    return `${UNIT}guard(${guards.push({ ...getLocation(node), message }) - 1})`;
  }

  function addExpression(expression: ts.Expression): number {
    const holder = expression.parent;
    if (
      ts.isVariableDeclaration(holder) && holder.initializer === expression &&
      ts.isIdentifier(holder.name)
    ) {
      const unit = addDeclaration(holder);
      if (unit !== undefined) return unit;
    }
    return reserve(
      expression,
      { ...getLocation(expression), label: shorten(expression.getText()) },
      () => {
        return `return (${rewrite([expression], expression)});`;
      },
    );
  }

  /** Adds the unit of a module-level declaration; returns `undefined` for local ones. */
  function addDeclaration(node: ts.Node): number | undefined {
    if (ts.isVariableDeclaration(node)) {
      const statement = node.parent.parent;
      if (!ts.isVariableStatement(statement) || !ts.isSourceFile(statement.parent)) {
        return undefined;
      }
      const label = node.name.getText();
      return reserve(
        node,
        {
          ...getLocation(node),
          label: shorten(label),
          isNamed: true,
          exportedAs: getExportName(node),
        },
        () => {
          const extra = getRegistrations(node);
          const names = listBoundNames(node.name).map(({ text }) => text);
          const scope = [node, ...extra];
          const initializer = node.initializer === undefined
            ? "undefined"
            : rewrite(scope, node.initializer);
          return [
            `const ${rewrite(scope, node.name)} = ${initializer};`,
            ...extra.map((statement) => rewrite(scope, statement)),
            `return ${ts.isIdentifier(node.name) ? names[0] : `{ ${names.join(", ")} }`};`,
          ].join("\n");
        },
      );
    }
    if (!ts.isSourceFile(node.parent)) return undefined;
    if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) {
      const name = node.name?.text ?? "value";
      return reserve(node, { ...getLocation(node), label: name }, () => {
        const text = withoutModifiers(node);
        return node.name === undefined ? `return (${text});` : `${text}\nreturn ${name};`;
      });
    }
    if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node)) {
      const name = node.name.text;
      // an enum may have several declarations
      const parts = node.parent.statements.filter((each): each is typeof node =>
        each.kind === node.kind && (each as typeof node).name.text === name
      );
      return reserve(parts[0], { ...getLocation(node), label: name }, () => {
        return `${parts.map((part) => withoutModifiers(part, parts)).join("\n")}\nreturn ${name};`;
      });
    }
    return undefined;
  }

  function withoutModifiers(
    node: ts.Declaration & { readonly modifiers?: ts.NodeArray<ts.ModifierLike> },
    scope: readonly ts.Node[] = [node],
  ): string {
    const dropped = (node.modifiers ?? []).filter(({ kind }) =>
      kind === ts.SyntaxKind.ExportKeyword || kind === ts.SyntaxKind.DefaultKeyword
    ).map((modifier): Edit => ({ start: modifier.getStart(), end: modifier.end, text: "" }));
    return rewrite(scope, node, dropped);
  }

  function addNamespace(module: SourceModule): number {
    const place = { file: project.getPath(module.source), line: 1 };
    return reserve(module, { ...place, label: place.file }, () => {
      const members = project.getExportNames(module).map((name) =>
        `get ${JSON.stringify(name)}() { return ${
          renderTarget(project.findExport(module, name), module.source, name)
        }; }`
      );
      return `return { ${members.join(", ")} };`;
    });
  }

  function renderPackageMember(specifier: string, name: string, at: ts.Node): string {
    const from = at.getSourceFile().fileName;
    const key = `${specifier}\0${dirname(from)}`;
    let index = packageIndexes.get(key);
    if (index === undefined) {
      packageIndexes.set(key, index = packages.push({ ...getLocation(at), specifier, from }) - 1);
    }
    const unit = reserve(
      `${index}\0${name}`,
      { ...getLocation(at), label: name || specifier, exportedAs: name || undefined },
      () => `return ${UNIT}member(${index}, ${JSON.stringify(name)});`,
    );
    return call(unit);
  }

  /** Returns the specifier of an import in the same file, including registry and version. */
  function findSpecifier(at: ts.Node): string | undefined {
    let node: ts.Node | undefined = ts.isIdentifier(at) ? findDeclaration(at) : undefined;
    while (node !== undefined && !ts.isImportDeclaration(node)) node = node.parent;
    if (node === undefined) return undefined;
    const specifier = (node as ts.ImportDeclaration).moduleSpecifier as ts.StringLiteral;
    return project.resolve(specifier).kind === "package" ? specifier.text : undefined;
  }

  /** Renders the code that replaces a resolved name. */
  function renderTarget(target: Target, at: ts.Node, name: string): string {
    if (target.kind === "expression") return call(addExpression(target.node));
    if (target.kind === "namespace") return call(addNamespace(target.module));
    if (target.kind === "package") {
      return renderPackageMember(findSpecifier(at) ?? target.module, target.name, at);
    }
    if (target.kind === "missing") {
      return guard(at, target.message ?? `${name} is imported from a file that does not exist`);
    }
    if (target.kind === "opaque") return guard(at, `${name} cannot be imported here`);
    return renderDeclared(target.node, at, name);
  }

  function renderDeclared(declaration: Declaration, at: ts.Node, name: string): string {
    let holder: ts.Node = declaration;
    while (ts.isBindingElement(holder)) holder = holder.parent.parent;
    const unit = addDeclaration(holder);
    if (unit === undefined) {
      return guard(at, `${name} is local to the enclosing function, so its value is unknown here`);
    }
    if (ts.isVariableDeclaration(holder)) {
      if (
        (holder.parent.flags & ts.NodeFlags.Const) === 0 && listAssignments(declaration).length > 0
      ) {
        return guard(at, `${name} is reassigned after its declaration: declare it with const`);
      }
      if (!ts.isIdentifier(holder.name)) {
        return `${call(unit)}.${((declaration as ts.BindingElement).name as ts.Identifier).text}`;
      }
    }
    return call(unit);
  }

  function renderJson(declaration: ts.Node | undefined): string | undefined {
    if (declaration === undefined || !ts.isImportClause(declaration)) return undefined;
    const { text } = declaration.parent.moduleSpecifier as ts.StringLiteral;
    const path = resolve(dirname(declaration.getSourceFile().fileName), text);
    if (!text.startsWith(".") || !text.endsWith(".json") || !existsSync(path)) return undefined;
    return call(
      reserve(
        path,
        { ...getLocation(declaration), label: text },
        () => `return (${readFileSync(path, "utf8")});`,
      ),
    );
  }

  /** Renders the code that replaces an identifier; `undefined` keeps the identifier. */
  function renderName(name: ts.Identifier, scope: readonly ts.Node[]): string | undefined {
    const declaration = findDeclaration(name);
    if (declaration === undefined) {
      if (PURE_GLOBALS.has(name.text) || isEnumMember(name)) return undefined;
      return guard(
        name,
        `${name.text} is used, but it is not available when schemas are evaluated`,
      );
    }
    if (isWithin(declaration, scope)) return undefined;
    const text = renderJson(declaration) ?? renderTarget(project.getTarget(name), name, name.text);
    return isAssigned(name) ? `${guard(name, `${name.text} is assigned`)}.value` : text;
  }

  /** Resolves `schemas.Note`, where `schemas` is a namespace import, to that export only. */
  function findNamespaceMember(node: ts.Expression): Target | undefined {
    if (ts.isIdentifier(node)) {
      return findDeclaration(node) === undefined ? undefined : project.getTarget(node);
    }
    if (!ts.isPropertyAccessExpression(node)) return undefined;
    const owner = findNamespaceMember(node.expression);
    return owner?.kind === "namespace"
      ? project.findExport(owner.module, node.name.text)
      : undefined;
  }

  function rewrite(scope: readonly ts.Node[], node: ts.Node, given: readonly Edit[] = []): string {
    const edits = [...given];
    const source = node.getSourceFile();
    const start = node.getStart(source);
    function replace(part: ts.Node, text: string): void {
      const isCallee = isLeftmostOfNew(part);
      edits.push({
        start: part.getStart(source),
        end: part.end,
        text: isCallee ? `(${text})` : text,
      });
    }
    visitValues(node, {
      name(name, isShorthand): void {
        const text = renderName(name, scope);
        if (text !== undefined) replace(name, isShorthand ? `${name.text}: ${text}` : text);
      },
      member(part): boolean {
        const target = findNamespaceMember(part);
        if (target === undefined || target.kind === "namespace") return false;
        replace(part, renderTarget(target, part, part.name.text));
        return true;
      },
      special(part, what): void {
        replace(
          part,
          guard(part, `${what} is used, but it is not available when schemas are evaluated`),
        );
      },
    });
    edits.sort((a, b) => a.start - b.start);
    let text = "";
    let at = start;
    for (const edit of edits) {
      text += source.text.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + source.text.slice(at, node.end);
  }

  function getExportName(node: ts.VariableDeclaration): string | undefined {
    if (!ts.isIdentifier(node.name)) return undefined;
    const { text } = node.name;
    const names = [...project.getModule(node).exports].filter(([, entry]) =>
      entry.kind === "local" && entry.name.text === text
    ).map(([name]) => name);
    if (names.length === 0) return undefined;
    return names.includes(text)
      ? text
      : names.filter((name) => name !== "default").sort()[0] ?? text;
  }

  return {
    add(expression): number {
      const unit = addExpression(expression);
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) next();
      return unit;
    },
    finish(): Slice {
      const lines = units.map(({ body }, index) =>
        `const ${UNIT}${index} = ${UNIT}unit(${index}, () => {\n${body}\n});`
      );
      const getters = units.map((_, index) => `${UNIT}${index}`).join(", ");
      const text = `(function (${UNIT}unit, ${UNIT}guard, ${UNIT}member) {\n${
        lines.join("\n")
      }\nreturn [${getters}];\n})`;
      const { outputText } = ts.transpileModule(text, {
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          isolatedModules: true,
        },
      });
      return { code: outputText, units, guards, packages };
    },
  };
}

const MAX_LABEL = 60;

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_LABEL ? `${line.slice(0, MAX_LABEL)} …` : line;
}
