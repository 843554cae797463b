import { relative } from "node:path";
import { toPortablePath } from "../inside_folder.ts";
import { ImportAliases } from "../project/import_aliases.ts";
import { type ModuleResolution, resolveModule } from "../project/resolve_module.ts";
import { type Declaration, findDeclaration, getScope } from "./scopes.ts";
import type { SourceLocation } from "./slice.ts";
import { type ExportEntry, readSourceModule, type SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** The target of a name after following imports and re-exports. */
export type Target =
  | { readonly kind: "declaration"; readonly node: Declaration }
  | { readonly kind: "expression"; readonly node: ts.Expression }
  | { readonly kind: "namespace"; readonly module: SourceModule }
  /** An export of a package; an empty name is the namespace object. */
  | { readonly kind: "package"; readonly module: string; readonly name: string }
  /** A global, or a file that is not a source file. */
  | { readonly kind: "opaque" }
  /** `message` is omitted if the file is missing, which is reported at its import. */
  | { readonly kind: "missing"; readonly message?: string };

/** The sources of a program; each file is parsed once, on demand. */
export class Project {
  /** Absolute path of the folder that paths in messages are relative to. */
  readonly root: string;
  readonly #modules = new Map<string, SourceModule>();
  readonly #resolutions = new Map<string, Map<string, ModuleResolution>>();
  readonly #aliases = new ImportAliases();

  /** @param root Absolute path of the project's folder. */
  constructor(root: string) {
    this.root = root;
  }

  /** Number of parsed files. */
  get fileCount(): number {
    return this.#modules.size;
  }

  /** Returns the absolute paths of the parsed files. */
  listFiles(): string[] {
    return [...this.#modules.keys()];
  }

  /** Parses a file. */
  read(path: string): SourceModule {
    let module = this.#modules.get(path);
    if (module === undefined) this.#modules.set(path, module = readSourceModule(path));
    return module;
  }

  /** Returns the module of a node. */
  getModule(node: ts.Node): SourceModule {
    return this.read(node.getSourceFile().fileName);
  }

  /** Returns the path relative to the project: `src/queries/notes.ts`. */
  getPath(node: ts.Node): string {
    return toPortablePath(this.root, node.getSourceFile().fileName);
  }

  /** Returns the 1-based line of a node. */
  getLine(node: ts.Node): number {
    const source = node.getSourceFile();
    return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  }

  /** Returns the path and the line of a node. */
  getLocation(node: ts.Node): SourceLocation {
    return { file: this.getPath(node), line: this.getLine(node) };
  }

  /** Resolves a specifier. */
  resolve(specifier: ts.StringLiteralLike): ModuleResolution {
    const from = specifier.getSourceFile().fileName;
    let known = this.#resolutions.get(from);
    if (known === undefined) this.#resolutions.set(from, known = new Map());
    let found = known.get(specifier.text);
    if (found === undefined) {
      known.set(specifier.text, found = resolveModule(specifier.text, from, this.#aliases));
    }
    return found;
  }

  #followImport(specifier: ts.StringLiteralLike, name: string, seen: Set<string>): Target {
    const found = this.resolve(specifier);
    if (found.kind === "package") return { kind: "package", module: found.name, name };
    if (found.kind === "data") return { kind: "opaque" };
    if (found.kind === "missing") return { kind: "missing" };
    const module = this.read(found.path);
    return name === "" ? { kind: "namespace", module } : this.findExport(module, name, seen);
  }

  /** Resolves an export of a module. `seen` has the exports on the way to it. */
  findExport(module: SourceModule, name: string, seen: Set<string> = new Set()): Target {
    const key = `${module.path}\0${name}`;
    const problem = module.commonJs === undefined
      ? `does not export "${name}"`
      : "is a CommonJS module, whose exports cannot be determined statically";
    const missing: Target = {
      kind: "missing",
      message: `${relative(this.root, module.path)} ${problem}`,
    };
    if (seen.has(key)) return missing;
    seen.add(key);
    const entry = module.exports.get(name);
    if (entry !== undefined) return this.#followEntry(entry, seen);
    if (name === "default") return missing;
    let elsewhere: Target | undefined;
    for (const star of module.stars) {
      const target = this.#followImport(star, name, seen);
      if (target.kind === "package") elsewhere ??= target;
      else if (target.kind !== "missing") return target;
    }
    return elsewhere ?? missing;
  }

  #followEntry(entry: ExportEntry, seen: Set<string>): Target {
    if (entry.kind === "from") return this.#followImport(entry.specifier, entry.name, seen);
    if (entry.kind === "namespace") return this.#followImport(entry.specifier, "", seen);
    if (entry.kind === "local") return this.getTarget(entry.name, seen);
    return ts.isExpression(entry.node) && !ts.isClassExpression(entry.node)
      ? { kind: "expression", node: entry.node }
      : { kind: "declaration", node: entry.node as Declaration };
  }

  /** Resolves an identifier in its scope. `seen` has the exports on the way to it. */
  getTarget(name: ts.Identifier, seen: Set<string> = new Set()): Target {
    const node = findDeclaration(name) ?? getScope(name.getSourceFile()).get(name.text);
    if (node === undefined) return { kind: "opaque" };
    if (ts.isImportSpecifier(node)) {
      const declaration = node.parent.parent.parent;
      return this.#followImport(
        declaration.moduleSpecifier as ts.StringLiteral,
        (node.propertyName ?? node.name).text,
        seen,
      );
    }
    if (ts.isNamespaceImport(node)) {
      return this.#followImport(node.parent.parent.moduleSpecifier as ts.StringLiteral, "", seen);
    }
    if (ts.isImportClause(node)) {
      return this.#followImport(node.parent.moduleSpecifier as ts.StringLiteral, "default", seen);
    }
    if (ts.isImportEqualsDeclaration(node)) {
      const { moduleReference } = node;
      if (ts.isIdentifier(moduleReference)) return this.getTarget(moduleReference, seen);
      if (
        ts.isExternalModuleReference(moduleReference) &&
        ts.isStringLiteralLike(moduleReference.expression)
      ) {
        return this.#followImport(moduleReference.expression, "", seen);
      }
      return {
        kind: "missing",
        message: `"${node.getText()}" cannot be resolved: use an import declaration`,
      };
    }
    return { kind: "declaration", node };
  }

  /** Lists the exports of a module; `default` is not re-exported by `export *`. */
  getExportNames(module: SourceModule, seen: Set<string> = new Set()): string[] {
    if (seen.has(module.path)) return [];
    seen.add(module.path);
    const names = new Set(module.exports.keys());
    for (const star of module.stars) {
      const found = this.resolve(star);
      if (found.kind !== "file") continue;
      for (const name of this.getExportNames(this.read(found.path), seen)) {
        if (name !== "default") names.add(name);
      }
    }
    return [...names];
  }
}
