import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { assignmentsTo } from "./assignments.ts";
import type { Project, Target } from "./project.ts";
import { isAssigned, isEnumMember, isLeftmostOfNew, isWithin } from "./name_places.ts";
import { PURE_GLOBALS } from "./pure_globals.ts";
import { getRegistrations } from "./schema_registrations.ts";
import { type Declaration, findDeclaration } from "./scopes.ts";
import type { Slice, SliceGuard, SlicePackage, SliceUnit, SourcePlace } from "./slice.ts";
import { boundNames, type SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";
import { visitValues } from "./value_references.ts";

/** Collects expressions with all that they need to be evaluated. */
export interface Slicer {
  /**
   * Takes an expression into the slice.
   *
   * @returns The index of its unit.
   */
  add(expression: ts.Expression): number;
  /** The slice so far. */
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

/** No source has names like these. */
const UNIT = "__slice_";

/**
 * Makes the slicer of a project. An expression is cut out with the declarations that it needs, from whatever file, and with
 * nothing else: no other statement of these files is part of the slice.
 *
 * @param project The sources.
 * @returns The slicer.
 */
export function createSlicer(project: Project): Slicer {
  const units: Unit[] = [];
  const guards: SliceGuard[] = [];
  const packages: SlicePackage[] = [];
  const unitOf: Map<ts.Node | SourceModule | string, number> = new Map();
  const packageIndexes: Map<string, number> = new Map();
  const pending: (() => void)[] = [];

  const getPlace = (node: ts.Node): SourcePlace => ({
    file: project.getPath(node),
    line: project.getLine(node),
  });

  /** Units are written one after the other, not inside each other: chains of declarations may be long. */
  function reserve(
    key: ts.Node | SourceModule | string,
    unit: SliceUnit,
    write: () => string,
  ): number {
    const known = unitOf.get(key);
    if (known !== undefined) return known;
    const index = units.push({ ...unit, body: "" }) - 1;
    unitOf.set(key, index);
    pending.push(() => units[index].body = write());
    return index;
  }

  const call = (index: number): string => `${UNIT}${index}()`;

  function guard(node: ts.Node, message: string): string {
    return `${UNIT}guard(${guards.push({ ...getPlace(node), message }) - 1})`;
  }

  function ofExpression(expression: ts.Expression): number {
    const holder = expression.parent;
    if (
      ts.isVariableDeclaration(holder) && holder.initializer === expression &&
      ts.isIdentifier(holder.name)
    ) {
      const unit = ofDeclaration(holder);
      if (unit !== undefined) return unit;
    }
    return reserve(
      expression,
      { ...getPlace(expression), label: shorten(expression.getText()) },
      () => {
        return `return (${rewrite([expression], expression)});`;
      },
    );
  }

  /** The unit of what is declared at the top of a file; `undefined` for what belongs to a function. */
  function ofDeclaration(node: ts.Node): number | undefined {
    if (ts.isVariableDeclaration(node)) {
      const statement = node.parent.parent;
      if (!ts.isVariableStatement(statement) || !ts.isSourceFile(statement.parent)) {
        return undefined;
      }
      const label = node.name.getText();
      return reserve(
        node,
        {
          ...getPlace(node),
          label: shorten(label),
          isNamed: true,
          exportedAs: getExportName(node),
        },
        () => {
          const extra = getRegistrations(node);
          const names = boundNames(node.name).map(({ text }) => text);
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
      return reserve(node, { ...getPlace(node), label: name }, () => {
        const text = withoutModifiers(node);
        return node.name === undefined ? `return (${text});` : `${text}\nreturn ${name};`;
      });
    }
    if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node)) {
      const name = node.name.text;
      // an enum may be written in parts
      const parts = node.parent.statements.filter((each): each is typeof node =>
        each.kind === node.kind && (each as typeof node).name.text === name
      );
      return reserve(parts[0], { ...getPlace(node), label: name }, () => {
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

  function ofNamespace(module: SourceModule): number {
    const place = { file: project.getPath(module.source), line: 1 };
    return reserve(module, { ...place, label: place.file }, () => {
      const members = project.getExportNames(module).map((name) =>
        `get ${JSON.stringify(name)}() { return ${
          ofTarget(project.exportOf(module, name), module.source, name)
        }; }`
      );
      return `return { ${members.join(", ")} };`;
    });
  }

  function ofPackage(specifier: string, name: string, at: ts.Node): string {
    const from = at.getSourceFile().fileName;
    const key = `${specifier}\0${dirname(from)}`;
    let index = packageIndexes.get(key);
    if (index === undefined) {
      packageIndexes.set(key, index = packages.push({ ...getPlace(at), specifier, from }) - 1);
    }
    const unit = reserve(
      `${index}\0${name}`,
      { ...getPlace(at), label: name || specifier, exportedAs: name || undefined },
      () => `return ${UNIT}member(${index}, ${JSON.stringify(name)});`,
    );
    return call(unit);
  }

  /** The specifier of an import in the same file, which has registry and version where they are written. */
  function writtenSpecifier(at: ts.Node): string | undefined {
    let node: ts.Node | undefined = ts.isIdentifier(at) ? findDeclaration(at) : undefined;
    while (node !== undefined && !ts.isImportDeclaration(node)) node = node.parent;
    if (node === undefined) return undefined;
    const specifier = (node as ts.ImportDeclaration).moduleSpecifier as ts.StringLiteral;
    return project.resolve(specifier).kind === "package" ? specifier.text : undefined;
  }

  /** The text that stands for what a name means. */
  function ofTarget(target: Target, at: ts.Node, name: string): string {
    if (target.kind === "expression") return call(ofExpression(target.node));
    if (target.kind === "namespace") return call(ofNamespace(target.module));
    if (target.kind === "package") {
      return ofPackage(writtenSpecifier(at) ?? target.module, target.name, at);
    }
    if (target.kind === "missing") {
      return guard(at, target.message ?? `${name} is imported from a file that is not there`);
    }
    if (target.kind === "opaque") return guard(at, `${name} is nothing that can be imported here`);
    return ofDeclared(target.node, at, name);
  }

  function ofDeclared(declaration: Declaration, at: ts.Node, name: string): string {
    let holder: ts.Node = declaration;
    while (ts.isBindingElement(holder)) holder = holder.parent.parent;
    const unit = ofDeclaration(holder);
    if (unit === undefined) {
      return guard(at, `${name} belongs to the function around it, so its value is not known here`);
    }
    if (ts.isVariableDeclaration(holder)) {
      if (
        (holder.parent.flags & ts.NodeFlags.Const) === 0 && assignmentsTo(declaration).length > 0
      ) {
        return guard(at, `${name} is assigned again after its declaration: declare it with const`);
      }
      if (!ts.isIdentifier(holder.name)) {
        return `${call(unit)}.${((declaration as ts.BindingElement).name as ts.Identifier).text}`;
      }
    }
    return call(unit);
  }

  function ofJson(declaration: ts.Node | undefined): string | undefined {
    if (declaration === undefined || !ts.isImportClause(declaration)) return undefined;
    const { text } = declaration.parent.moduleSpecifier as ts.StringLiteral;
    const path = resolve(dirname(declaration.getSourceFile().fileName), text);
    if (!text.startsWith(".") || !text.endsWith(".json") || !existsSync(path)) return undefined;
    return call(
      reserve(
        path,
        { ...getPlace(declaration), label: text },
        () => `return (${readFileSync(path, "utf8")});`,
      ),
    );
  }

  /** The text for a name where it stands; `undefined` leaves it as it is. */
  function ofName(name: ts.Identifier, scope: readonly ts.Node[]): string | undefined {
    const declaration = findDeclaration(name);
    if (declaration === undefined) {
      if (PURE_GLOBALS.has(name.text) || isEnumMember(name)) return undefined;
      return guard(name, `${name.text} is used, which is not there when schemas are read`);
    }
    if (isWithin(declaration, scope)) return undefined;
    const text = ofJson(declaration) ?? ofTarget(project.getTarget(name), name, name.text);
    return isAssigned(name) ? `${guard(name, `${name.text} is assigned`)}.value` : text;
  }

  /** `schemas.Note`, where `schemas` is all that a file exports, is that one export. */
  function namespaceMember(node: ts.Expression): Target | undefined {
    if (ts.isIdentifier(node)) {
      return findDeclaration(node) === undefined ? undefined : project.getTarget(node);
    }
    if (!ts.isPropertyAccessExpression(node)) return undefined;
    const owner = namespaceMember(node.expression);
    return owner?.kind === "namespace" ? project.exportOf(owner.module, node.name.text) : undefined;
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
        const text = ofName(name, scope);
        if (text !== undefined) replace(name, isShorthand ? `${name.text}: ${text}` : text);
      },
      member(part): boolean {
        const target = namespaceMember(part);
        if (target === undefined || target.kind === "namespace") return false;
        replace(part, ofTarget(target, part, part.name.text));
        return true;
      },
      special(part, what): void {
        replace(part, guard(part, `${what} is used, which is not there when schemas are read`));
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
      const unit = ofExpression(expression);
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
