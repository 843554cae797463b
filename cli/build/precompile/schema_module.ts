import type { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { isTrellis } from "../../analysis/values.ts";
import { visitValues } from "../../analysis/value_references.ts";
import { isOmittable } from "./omittable_expression.ts";
import { NotPure, type PureExpression, type PureExpressions } from "./pure_expression.ts";

/** A schema in the sources that does not depend on when it is created. */
export interface SourceSchema extends PureExpression {
  /** Its file with its name or line: `src/note_schemas.ts#NoteInput`, `src/functions/a.ts#12`. */
  readonly key: string;
}

/** Code that keeps zod in a function. */
export interface ZodUse {
  readonly node: ts.Node;
  readonly message: string;
  /** True for a compiled schema that would load zod as soon as this code runs. */
  readonly isValue?: boolean;
}

/** The schemas of a module. */
export interface SchemaModuleSource {
  readonly module: SourceModule;
  readonly schemas: readonly SourceSchema[];
  /** Other schemas of constants, which can be omitted if the constants are not used. */
  readonly others: readonly ts.Expression[];
  /** Uses of zod that need it. */
  readonly uses: readonly ZodUse[];
}

/** Methods of a schema that do not need zod for values that fit. */
const FAST_METHODS: ReadonlySet<string> = new Set(["parse", "safeParse", "safeParseAsync"]);

/** Finds the schemas of a module. */
export function readSchemaModule(
  project: Project,
  module: SourceModule,
  expressions: PureExpressions,
): SchemaModuleSource {
  return new SchemaModuleReader(project, module, expressions).read();
}

class SchemaModuleReader {
  readonly #project: Project;
  readonly #module: SourceModule;
  readonly #expressions: PureExpressions;
  readonly #schemas: SourceSchema[] = [];
  readonly #others: ts.Expression[] = [];
  readonly #uses: ZodUse[] = [];

  constructor(project: Project, module: SourceModule, expressions: PureExpressions) {
    this.#project = project;
    this.#module = module;
    this.#expressions = expressions;
  }

  read(): SchemaModuleSource {
    for (const statement of this.#module.source.statements) {
      const isLink = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
      if (!isLink) this.#visit(statement);
    }
    return {
      module: this.#module,
      schemas: this.#schemas,
      others: this.#others,
      uses: this.#uses,
    };
  }

  /** Visits code that runs when the module is loaded. */
  #visit(node: ts.Node): void {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return this.#visitUses(node);
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
      return;
    }
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined) {
      const isSchema = this.#addDeclared(node, node.initializer);
      if (isSchema) return;
    }
    if (ts.isCallExpression(node) && this.#isRootedInZod(node)) return this.#addInline(node);
    if (ts.isIdentifier(node)) return this.#visitUses(node);
    ts.forEachChild(node, (child) => this.#visit(child));
  }

  /** Adds the value of a constant; returns false if it is no schema. */
  #addDeclared(declaration: ts.VariableDeclaration, initializer: ts.Expression): boolean {
    const value = unwrap(initializer);
    if (!ts.isCallExpression(value) || !this.#isRootedInZod(value)) return false;
    const read = this.#expressions.readDeclaration(declaration);
    if (read instanceof NotPure) {
      const canOmit = isOmittable(value, (name) => this.#isZodName(name));
      if (canOmit) this.#others.push(initializer);
      this.#addUse(read, !canOmit && !this.#isRootedInImport(value));
    } else {
      this.#schemas.push({ ...read, key: this.#getKey(declaration) });
    }
    return true;
  }

  #addInline(node: ts.CallExpression): void {
    const read = this.#expressions.read(node);
    if (read instanceof NotPure) this.#addUse(read, !this.#isRootedInImport(node));
    else this.#schemas.push({ ...read, key: this.#getKey(node) });
  }

  #getKey(node: ts.Node): string {
    return getSchemaKey(this.#project, node);
  }

  #addUse({ node, message }: NotPure, isValue: boolean): void {
    this.#uses.push({ node, message, isValue });
  }

  /** Returns true for calls such as `z.object()` and `Note.extend()`. */
  #isRootedInZod(node: ts.Expression): boolean {
    const root = getRoot(node);
    return ts.isIdentifier(root) && this.#isZodName(root);
  }

  /** Returns true for `z.object()`, which is a use of zod itself, unlike `Note.extend()`. */
  #isRootedInImport(node: ts.Expression): boolean {
    const root = getRoot(node);
    return ts.isIdentifier(root) && this.#expressions.findReference(root)?.kind === "zod";
  }

  #isZodName(name: ts.Identifier): boolean {
    const reference = this.#expressions.findReference(name);
    if (reference?.kind !== "declaration") return reference !== undefined;
    const value = this.#expressions.readDeclaration(reference.node);
    return !(value instanceof NotPure) && value.isZod;
  }

  /** Notes the names in a node that need zod. */
  #visitUses(node: ts.Node): void {
    visitValues(node, {
      name: (name) => {
        if (!this.#isZodName(name)) return;
        if (this.#expressions.findReference(name)?.kind === "zod") {
          this.#uses.push({
            node: name,
            message: "zod is used in a function: move the schema to a const of the module",
          });
        } else if (!this.#isFastUse(name)) {
          this.#uses.push({
            node: name,
            message: `${name.text} is used as a value: only options and parse() need no zod`,
            isValue: true,
          });
        }
      },
      member: () => false,
      special: () => {},
    });
  }

  /** Returns true for options (`schema: Note`), `Note.parse()`, and arguments of this package. */
  #isFastUse(name: ts.Identifier): boolean {
    const { parent } = name;
    if (ts.isPropertyAssignment(parent) && parent.initializer === name) return true;
    if (ts.isShorthandPropertyAssignment(parent) || ts.isExportSpecifier(parent)) return true;
    if (ts.isPropertyAccessExpression(parent)) {
      return FAST_METHODS.has(parent.name.text) && ts.isCallExpression(parent.parent) &&
        parent.parent.expression === parent && parent.parent.arguments.length === 1;
    }
    if (!ts.isCallExpression(parent) || !ts.isIdentifier(parent.expression)) return false;
    const target = this.#project.getTarget(parent.expression);
    return target.kind === "package" && isTrellis(target.module);
  }
}

/** Returns the key of the schema at a node: its declaration, or an expression. */
export function getSchemaKey(project: Project, node: ts.Node): string {
  const { line, character } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
  const name = ts.isVariableDeclaration(node)
    ? node.name.getText()
    : `${line + 1}:${character + 1}`;
  return `${project.getPath(node)}#${name}`;
}

/** Returns the start of a chain: `z` of `z.string().min(1)`. */
function getRoot(node: ts.Expression): ts.Expression {
  let root = unwrap(node);
  while (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) {
    root = unwrap(root.expression);
  }
  return root;
}
