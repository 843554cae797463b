import { relative, sep } from "node:path";
import { createImportAliases } from "./import_aliases.ts";
import { type Resolution, resolveModule } from "./resolve_module.ts";
import { type Declaration, findDeclaration, getScope } from "./scopes.ts";
import { type ExportEntry, readSourceModule, type SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** What a name means, after imports and re-exports were followed. */
export type Target =
  | { readonly kind: "declaration"; readonly node: Declaration }
  | { readonly kind: "expression"; readonly node: ts.Expression }
  | { readonly kind: "namespace"; readonly module: SourceModule }
  /** A name of a package; an empty one is the package's whole namespace. */
  | { readonly kind: "package"; readonly module: string; readonly name: string }
  /** A global, or a file that is no program. */
  | { readonly kind: "opaque" }
  /** `message` is left out when the file itself is missing, which is told where it is imported. */
  | { readonly kind: "missing"; readonly message?: string };

/** A program's sources, parsed as they are needed and once each. */
export interface Project {
  /** Absolute path of the folder that messages are relative to. */
  readonly root: string;
  /** How many files were parsed. */
  readonly fileCount: number;
  /** Parses a file. */
  read(path: string): SourceModule;
  /** What a specifier in a file leads to. */
  resolve(specifier: ts.StringLiteralLike, from?: SourceModule): Resolution;
  /** What a name means where it stands. */
  getTarget(name: ts.Identifier): Target;
  /** What a file exports under a name. */
  exportOf(module: SourceModule, name: string): Target;
  /** The names that a file exports, without `default` for those of `export *`. */
  getExportNames(module: SourceModule): string[];
  /** The module that a node is in. */
  getModule(node: ts.Node): SourceModule;
  /** `src/queries/notes.ts` */
  getPath(node: ts.Node): string;
  /** The line that a node begins at, from 1. */
  getLine(node: ts.Node): number;
}

/**
 * Opens a program's sources.
 *
 * @param root Absolute path of the project's folder.
 * @returns The project.
 */
export function openProject(root: string): Project {
  const modules = new Map<string, SourceModule>();
  const resolutions = new Map<string, Map<string, Resolution>>();
  const aliases = createImportAliases();

  function read(path: string): SourceModule {
    let module = modules.get(path);
    if (module === undefined) modules.set(path, module = readSourceModule(path));
    return module;
  }

  function getModule(node: ts.Node): SourceModule {
    return read(node.getSourceFile().fileName);
  }

  function resolve(specifier: ts.StringLiteralLike): Resolution {
    const from = specifier.getSourceFile().fileName;
    let known = resolutions.get(from);
    if (known === undefined) resolutions.set(from, known = new Map());
    let found = known.get(specifier.text);
    if (found === undefined) {
      known.set(specifier.text, found = resolveModule(specifier.text, from, aliases));
    }
    return found;
  }

  function through(specifier: ts.StringLiteralLike, name: string, seen: Set<string>): Target {
    const found = resolve(specifier);
    if (found.kind === "package") return { kind: "package", module: found.name, name };
    if (found.kind === "data") return { kind: "opaque" };
    if (found.kind === "missing") return { kind: "missing" };
    const module = read(found.path);
    return name === "" ? { kind: "namespace", module } : lookUp(module, name, seen);
  }

  function lookUp(module: SourceModule, name: string, seen: Set<string>): Target {
    const key = `${module.path}\0${name}`;
    const missing: Target = {
      kind: "missing",
      message: module.commonJs === undefined
        ? `${relative(root, module.path)} exports no "${name}"`
        : `${
          relative(root, module.path)
        } is a CommonJS module, whose exports cannot be told from its text`,
    };
    if (seen.has(key)) return missing;
    seen.add(key);
    const entry = module.exports.get(name);
    if (entry !== undefined) return ofEntry(entry, seen);
    if (name === "default") return missing;
    let elsewhere: Target | undefined;
    for (const star of module.stars) {
      const target = through(star, name, seen);
      if (target.kind === "package") elsewhere ??= target;
      else if (target.kind !== "missing") return target;
    }
    return elsewhere ?? missing;
  }

  function ofEntry(entry: ExportEntry, seen: Set<string>): Target {
    if (entry.kind === "from") return through(entry.specifier, entry.name, seen);
    if (entry.kind === "namespace") return through(entry.specifier, "", seen);
    if (entry.kind === "local") return getTarget(entry.name, seen);
    return ts.isExpression(entry.node) && !ts.isClassExpression(entry.node)
      ? { kind: "expression", node: entry.node }
      : { kind: "declaration", node: entry.node as Declaration };
  }

  function getTarget(name: ts.Identifier, seen: Set<string> = new Set()): Target {
    const node = findDeclaration(name) ?? getScope(name.getSourceFile()).get(name.text);
    if (node === undefined) return { kind: "opaque" };
    if (ts.isImportSpecifier(node)) {
      const declaration = node.parent.parent.parent;
      return through(
        declaration.moduleSpecifier as ts.StringLiteral,
        (node.propertyName ?? node.name).text,
        seen,
      );
    }
    if (ts.isNamespaceImport(node)) {
      return through(node.parent.parent.moduleSpecifier as ts.StringLiteral, "", seen);
    }
    if (ts.isImportClause(node)) {
      return through(node.parent.moduleSpecifier as ts.StringLiteral, "default", seen);
    }
    if (ts.isImportEqualsDeclaration(node)) {
      const { moduleReference } = node;
      if (ts.isIdentifier(moduleReference)) return getTarget(moduleReference, seen);
      if (
        ts.isExternalModuleReference(moduleReference) &&
        ts.isStringLiteralLike(moduleReference.expression)
      ) {
        return through(moduleReference.expression, "", seen);
      }
      return {
        kind: "missing",
        message: `"${node.getText()}" cannot be followed: use an import declaration`,
      };
    }
    return { kind: "declaration", node };
  }

  function getExportNames(module: SourceModule, seen: Set<string> = new Set()): string[] {
    if (seen.has(module.path)) return [];
    seen.add(module.path);
    const names = new Set(module.exports.keys());
    for (const star of module.stars) {
      const found = resolve(star);
      if (found.kind !== "file") continue;
      for (const name of getExportNames(read(found.path), seen)) {
        if (name !== "default") names.add(name);
      }
    }
    return [...names];
  }

  return {
    root,
    get fileCount(): number {
      return modules.size;
    },
    read,
    resolve,
    getTarget: (name) => getTarget(name),
    exportOf: (module, name) => lookUp(module, name, new Set()),
    getExportNames: (module) => getExportNames(module),
    getModule,
    getPath: (node) => relative(root, node.getSourceFile().fileName).split(sep).join("/"),
    getLine(node): number {
      const source = node.getSourceFile();
      return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    },
  };
}
