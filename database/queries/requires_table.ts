import { checkTables, type QueryTable } from "./query_tables.ts";
import type { DatabaseOperation, TablePermission } from "./table_permission.ts";
import { record } from "../../env/recording.ts";

/** Method decorator, in the standard form and in that of `experimentalDecorators`. */
export interface TableDecorator {
  /** The standard form. */
  <This, Args extends unknown[], Return>(
    method: (this: This, ...args: Args) => Return,
    context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Return>,
  ): void;
  /** The form of `experimentalDecorators`. */
  (target: object, name: string | symbol, descriptor: PropertyDescriptor): void;
}

/** Declarations by class and method. */
const byClass: WeakMap<object, Map<string | symbol, readonly TablePermission[]>> = new WeakMap();
/**
 * Declarations of methods whose class is not yet known when the decorator runs (standard, not
 * static).
 */
const byMethod: WeakMap<object, readonly TablePermission[]> = new WeakMap();

/**
 * Declares the tables and operations of a query method, from which the grants of its callers are
 * generated. In new code, use `createQueryFactory`, which takes the same declaration without a
 * class.
 *
 * @param permissions Tables with operations.
 * @returns A decorator for a static method or a method.
 * @throws {ConfigurationError} If a table has no name, or an operation is unknown.
 *
 * @example
 * ```ts
 * import { DatabaseOperation, getTablePermissions, RequiresTable } from "@trellis/fn/database";
 *
 * class NoteQueries {
 *   @RequiresTable([{ table: "notes", operations: [DatabaseOperation.Select] }])
 *   static find(): void {}
 * }
 * console.log(getTablePermissions(NoteQueries)); // [{ table: "notes", operations: ["SELECT"] }]
 * ```
 */
export function RequiresTable(permissions: readonly QueryTable[]): TableDecorator {
  const declared = checkTables(permissions);
  return function declareTables(
    target: object,
    context: string | symbol | ClassMethodDecoratorContext,
  ): void {
    record("RequiresTable", [permissions, target, context], undefined);
    if (typeof context !== "object") {
      // experimental decorators: the target of a static method is the class, otherwise the
      // prototype
      declare(typeof target === "function" ? target : target.constructor, context, declared);
      return;
    }
    byMethod.set(target, declared);
    if (context.static) {
      context.addInitializer(function declareOnClass(this: unknown): void {
        declare(this as object, context.name, declared);
      });
    }
  } as TableDecorator;
}

function declare(
  target: object,
  name: string | symbol,
  permissions: readonly TablePermission[],
): void {
  let methods = byClass.get(target);
  if (methods === undefined) byClass.set(target, methods = new Map());
  methods.set(name, permissions);
}

/**
 * Returns the declarations of {@link RequiresTable} on the methods of a class and its base classes.
 *
 * @param target The class.
 * @returns One entry per table with all declared operations, in the order of declaration.
 */
// deno-lint-ignore ban-types -- a class of any kind
export function getTablePermissions(target: Function): TablePermission[] {
  const chain: object[] = [];
  for (
    let link: object | null = target;
    typeof link === "function";
    link = Object.getPrototypeOf(link)
  ) {
    if (link !== Function.prototype) chain.unshift(link);
  }
  const merged = new Map<string, Set<DatabaseOperation>>();
  for (const link of chain) {
    for (const { table, operations } of declaredOn(link)) {
      const known = merged.get(table) ?? new Set();
      merged.set(table, known);
      for (const operation of operations) known.add(operation);
    }
  }
  return [...merged].map(([table, operations]) => ({ table, operations: [...operations] }));
}

function declaredOn(target: object): TablePermission[] {
  const own = new Map(byClass.get(target));
  const { prototype } = target as { prototype?: object };
  if (prototype !== undefined) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const declared = typeof value === "function" ? byMethod.get(value) : undefined;
      if (declared !== undefined) own.set(name, declared);
    }
  }
  return [...own.values()].flat();
}
