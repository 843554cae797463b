import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { listAssignments } from "./assignments.ts";
import type { Project, Target } from "./project.ts";
import { isAssigned, isEnumMember, isLeftmostOfNew, isWithin } from "./node_checks.ts";
import { PURE_GLOBALS } from "./pure_globals.ts";
import { getRegistrations } from "./schema_registrations.ts";
import { type Declaration, findDeclaration } from "./scopes.ts";
import type { Slice, SliceUse } from "./slice.ts";
import { SliceBuilder } from "./slice_builder.ts";
import {
  applyEdits,
  type Edit,
  findNamespaceMember,
  findSpecifier,
  getExportName,
  shorten,
} from "./slice_names.ts";
import { listBoundNames, type SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";
import { visitValues } from "./value_references.ts";

/**
 * Collects expressions with everything needed to evaluate them: the declarations that they refer to,
 * from any file. Other statements of these files are not part of the slice.
 */
export class Slicer {
  readonly #project: Project;
  readonly #subject: string;
  readonly #slice: SliceBuilder;

  /** @param subject The evaluated things, in messages. */
  constructor(project: Project, subject = "schemas") {
    this.#project = project;
    this.#subject = subject;
    this.#slice = new SliceBuilder(project);
  }

  #addExpression(expression: ts.Expression): number {
    const holder = expression.parent;
    if (
      ts.isVariableDeclaration(holder) && holder.initializer === expression &&
      ts.isIdentifier(holder.name)
    ) {
      const unit = this.#addDeclaration(holder);
      if (unit !== undefined) return unit;
    }
    return this.#slice.reserve(
      expression,
      { ...this.#project.getLocation(expression), label: shorten(expression.getText()) },
      () => {
        return `return (${this.#rewrite([expression], expression)});`;
      },
    );
  }

  /** Adds the unit of a module-level declaration; returns `undefined` for local ones. */
  #addDeclaration(node: ts.Node): number | undefined {
    if (ts.isVariableDeclaration(node)) {
      const statement = node.parent.parent;
      if (!ts.isVariableStatement(statement) || !ts.isSourceFile(statement.parent)) {
        return undefined;
      }
      const label = node.name.getText();
      return this.#slice.reserve(
        node,
        {
          ...this.#project.getLocation(node),
          label: shorten(label),
          isNamed: true,
          exportedAs: getExportName(this.#project, node),
        },
        () => {
          const extra = getRegistrations(node);
          const names = listBoundNames(node.name).map(({ text }) => text);
          const scope = [node, ...extra];
          const initializer = node.initializer === undefined
            ? "undefined"
            : this.#rewrite(scope, node.initializer);
          return [
            `const ${this.#rewrite(scope, node.name)} = ${initializer};`,
            ...extra.map((statement) => this.#rewrite(scope, statement)),
            `return ${ts.isIdentifier(node.name) ? names[0] : `{ ${names.join(", ")} }`};`,
          ].join("\n");
        },
      );
    }
    if (!ts.isSourceFile(node.parent)) return undefined;
    if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) {
      const name = node.name?.text ?? "value";
      return this.#slice.reserve(node, { ...this.#project.getLocation(node), label: name }, () => {
        const text = this.#withoutModifiers(node);
        return node.name === undefined ? `return (${text});` : `${text}\nreturn ${name};`;
      });
    }
    if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node)) {
      const name = node.name.text;
      // an enum may have several declarations
      const parts = node.parent.statements.filter((each): each is typeof node =>
        each.kind === node.kind && (each as typeof node).name.text === name
      );
      return this.#slice.reserve(
        parts[0],
        { ...this.#project.getLocation(node), label: name },
        () => {
          return `${
            parts.map((part) => this.#withoutModifiers(part, parts)).join("\n")
          }\nreturn ${name};`;
        },
      );
    }
    return undefined;
  }

  #withoutModifiers(
    node: ts.Declaration & { readonly modifiers?: ts.NodeArray<ts.ModifierLike> },
    scope: readonly ts.Node[] = [node],
  ): string {
    const dropped = (node.modifiers ?? []).filter(({ kind }) =>
      kind === ts.SyntaxKind.ExportKeyword || kind === ts.SyntaxKind.DefaultKeyword
    ).map((modifier): Edit => ({ start: modifier.getStart(), end: modifier.end, text: "" }));
    return this.#rewrite(scope, node, dropped);
  }

  #addNamespace(module: SourceModule): number {
    const place = { file: this.#project.getPath(module.source), line: 1 };
    return this.#slice.reserve(module, { ...place, label: place.file }, () => {
      const members = this.#project.getExportNames(module).map((name) =>
        `get ${JSON.stringify(name)}() { return ${
          this.#renderTarget(this.#project.findExport(module, name), module.source, name)
        }; }`
      );
      return `return { ${members.join(", ")} };`;
    });
  }

  /** Renders the code that replaces a resolved name. */
  #renderTarget(target: Target, at: ts.Node, name: string): string {
    if (target.kind === "expression") return this.#slice.call(this.#addExpression(target.node));
    if (target.kind === "namespace") return this.#slice.call(this.#addNamespace(target.module));
    if (target.kind === "package") {
      return this.#slice.callMember(
        findSpecifier(this.#project, at) ?? target.module,
        target.name,
        at,
      );
    }
    if (target.kind === "missing") {
      return this.#slice.guard(
        at,
        target.message ?? `${name} is imported from a file that does not exist`,
      );
    }
    if (target.kind === "opaque") return this.#slice.guard(at, `${name} cannot be imported here`);
    return this.#renderDeclared(target.node, at, name);
  }

  #renderDeclared(declaration: Declaration, at: ts.Node, name: string): string {
    let holder: ts.Node = declaration;
    while (ts.isBindingElement(holder)) holder = holder.parent.parent;
    const unit = this.#addDeclaration(holder);
    if (unit === undefined) {
      return this.#slice.guard(
        at,
        `${name} is local to the enclosing function, so its value is unknown here`,
      );
    }
    if (ts.isVariableDeclaration(holder)) {
      if (
        (holder.parent.flags & ts.NodeFlags.Const) === 0 && listAssignments(declaration).length > 0
      ) {
        return this.#slice.guard(
          at,
          `${name} is reassigned after its declaration: declare it with const`,
        );
      }
      if (!ts.isIdentifier(holder.name)) {
        return `${this.#slice.call(unit)}.${
          ((declaration as ts.BindingElement).name as ts.Identifier).text
        }`;
      }
    }
    return this.#slice.call(unit);
  }

  #renderJson(declaration: ts.Node | undefined): string | undefined {
    if (declaration === undefined || !ts.isImportClause(declaration)) return undefined;
    const { text } = declaration.parent.moduleSpecifier as ts.StringLiteral;
    const path = resolve(dirname(declaration.getSourceFile().fileName), text);
    if (!text.startsWith(".") || !text.endsWith(".json") || !existsSync(path)) return undefined;
    return this.#slice.call(
      this.#slice.reserve(
        path,
        { ...this.#project.getLocation(declaration), label: text },
        () => `return (${readFileSync(path, "utf8")});`,
      ),
    );
  }

  /** Renders the code that replaces an identifier; `undefined` keeps the identifier. */
  #renderName(name: ts.Identifier, scope: readonly ts.Node[]): string | undefined {
    const declaration = findDeclaration(name);
    if (declaration === undefined) {
      if (PURE_GLOBALS.has(name.text) || isEnumMember(name)) return undefined;
      return this.#slice.guard(
        name,
        `${name.text} is used, but it is not available when ${this.#subject} are evaluated`,
      );
    }
    if (isWithin(declaration, scope)) return undefined;
    const text = this.#renderJson(declaration) ??
      this.#renderTarget(this.#project.getTarget(name), name, name.text);
    return isAssigned(name) ? `${this.#slice.guard(name, `${name.text} is assigned`)}.value` : text;
  }

  #rewrite(scope: readonly ts.Node[], node: ts.Node, given: readonly Edit[] = []): string {
    const edits = [...given];
    const source = node.getSourceFile();
    const start = node.getStart(source);
    const replace = (part: ts.Node, text: string): void => {
      const isCallee = isLeftmostOfNew(part);
      edits.push({
        start: part.getStart(source),
        end: part.end,
        text: isCallee ? `(${text})` : text,
      });
    };
    visitValues(node, {
      name: (name, isShorthand): void => {
        const text = this.#renderName(name, scope);
        if (text !== undefined) replace(name, isShorthand ? `${name.text}: ${text}` : text);
      },
      member: (part): boolean => {
        const target = findNamespaceMember(this.#project, part);
        if (target === undefined || target.kind === "namespace") return false;
        replace(part, this.#renderTarget(target, part, part.name.text));
        return true;
      },
      special: (part, what): void => {
        replace(
          part,
          this.#slice.guard(
            part,
            `${what} is used, but it is not available when ${this.#subject} are evaluated`,
          ),
        );
      },
    });
    return applyEdits(source.text.slice(0, node.end), start, edits);
  }

  /** Adds an expression; returns its location and the index of its unit. */
  add(expression: ts.Expression): SliceUse {
    const unit = this.#addExpression(expression);
    this.#slice.writeReserved();
    return { ...this.#project.getLocation(expression), unit };
  }

  /**
   * Adds an expression as a function of a parameter of the enclosing function.
   *
   * @returns The index of the unit, whose value is the function.
   */
  addFunction(expression: ts.Expression, parameter: ts.ParameterDeclaration): number {
    const label = shorten(expression.getText());
    const location = { ...this.#project.getLocation(expression), label };
    const unit = this.#slice.reserve(expression, location, () => {
      const body = this.#rewrite([expression, parameter], expression);
      return `return (${parameter.name.getText()}) => (${body});`;
    });
    this.#slice.writeReserved();
    return unit;
  }

  /** Returns the slice. */
  finish(): Slice {
    return this.#slice.finish();
  }
}
