import { relative, sep } from "node:path";
import { createImportAliases } from "./import_aliases.ts";
import { type ModuleResolution, resolveModule } from "./resolve_module.ts";
import { type Declaration, findDeclaration, getScope } from "./scopes.ts";
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
export interface Project {
  /** Absolute path of the folder that paths in messages are relative to. */
  readonly root: string;
  /** Number of parsed files. */
  readonly fileCount: number;
  /** Returns the absolute paths of the parsed files. */
  listFiles(): string[];
  /** Parses a file. */
  read(path: string): SourceModule;
  /** Resolves a specifier. */
  resolve(specifier: ts.StringLiteralLike, from?: SourceModule): ModuleResolution;
  /** Resolves an identifier in its scope. */
  getTarget(name: ts.Identifier): Target;
  /** Resolves an export of a module. */
  findExport(module: SourceModule, name: string): Target;
  /** Lists the exports of a module; `default` is not re-exported by `export *`. */
  getExportNames(module: SourceModule): string[];
  /** Returns the module of a node. */
  getModule(node: ts.Node): SourceModule;
  /** Returns the path relative to the project: `src/queries/notes.ts`. */
  getPath(node: ts.Node): string;
  /** Returns the 1-based line of a node. */
  getLine(node: ts.Node): number;
}

/**
 * Opens the sources of a program.
 *
 * @param root Absolute path of the project's folder.
 * @returns The project.
 */
export function openProject(root: string): Project {
  return new SourceProject(root);
}

class SourceProject implements Project {
  readonly root: string;
  readonly #modules = new Map<string, SourceModule>();
  readonly #resolutions = new Map<string, Map<string, ModuleResolution>>();
  readonly #aliases = createImportAliases();

  constructor(root: string) {
    this.root = root;
  }

  read(path: string): SourceModule {
    let module = this.#modules.get(path);
    if (module === undefined) this.#modules.set(path, module = readSourceModule(path));
    return module;
  }

  getModule(node: ts.Node): SourceModule {
    return this.read(node.getSourceFile().fileName);
  }

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
    return name === "" ? { kind: "namespace", module } : this.#lookUp(module, name, seen);
  }

  #lookUp(module: SourceModule, name: string, seen: Set<string>): Target {
    const key = `${module.path}\0${name}`;
    const missing: Target = {
      kind: "missing",
      message: module.commonJs === undefined
        ? `${relative(this.root, module.path)} does not export "${name}"`
        : `${
          relative(this.root, module.path)
        } is a CommonJS module, whose exports cannot be determined statically`,
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
    if (entry.kind === "local") return this.#getTarget(entry.name, seen);
    return ts.isExpression(entry.node) && !ts.isClassExpression(entry.node)
      ? { kind: "expression", node: entry.node }
      : { kind: "declaration", node: entry.node as Declaration };
  }

  #getTarget(name: ts.Identifier, seen: Set<string> = new Set()): Target {
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
      if (ts.isIdentifier(moduleReference)) return this.#getTarget(moduleReference, seen);
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

  #getExportNames(module: SourceModule, seen: Set<string> = new Set()): string[] {
    if (seen.has(module.path)) return [];
    seen.add(module.path);
    const names = new Set(module.exports.keys());
    for (const star of module.stars) {
      const found = this.resolve(star);
      if (found.kind !== "file") continue;
      for (const name of this.#getExportNames(this.read(found.path), seen)) {
        if (name !== "default") names.add(name);
      }
    }
    return [...names];
  }

  get fileCount(): number {
    return this.#modules.size;
  }

  listFiles(): string[] {
    return [...this.#modules.keys()];
  }

  getTarget(name: ts.Identifier): Target {
    return this.#getTarget(name);
  }

  findExport(module: SourceModule, name: string): Target {
    return this.#lookUp(module, name, new Set());
  }

  getExportNames(module: SourceModule): string[] {
    return this.#getExportNames(module);
  }

  getPath(node: ts.Node): string {
    return relative(this.root, node.getSourceFile().fileName).split(sep).join("/");
  }

  getLine(node: ts.Node): number {
    const source = node.getSourceFile();
    return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  }
}
