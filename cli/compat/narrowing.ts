import { isDeepStrictEqual } from "node:util";
import { compareLimits, compareOthers } from "./keyword_narrowing.ts";
import {
  asSchema,
  type CompareParts,
  isConstraint,
  type Json,
  listTypes,
  listValues,
  type Narrowing,
  resolveView,
  type SchemaView,
  splitVariants,
  type ValueDirection,
} from "./schema_view.ts";

/**
 * Lists the reasons why a value that fits one schema may not fit another. A keyword that cannot be
 * compared is a reason too, unless both schemas have it with the same value. Properties that an
 * object does not declare are taken as never sent, unless it becomes strict in a request.
 *
 * @param to The schema that they must fit.
 * @param direction A client may send more than an open object declares; a server does not.
 * @returns The reasons; none if each value fits.
 */
export function findNarrowing(
  from: SchemaView,
  to: SchemaView,
  direction: ValueDirection = "response",
): Narrowing[] {
  return new Comparison(from.document, to.document, direction).compare(from.schema, to.schema, "");
}

const MAX_DEPTH = 200;

class Comparison {
  readonly #from: Json;
  readonly #to: Json;
  readonly #direction: ValueDirection;
  /** Pairs that are being compared: recursive schemas fit if nothing else is found. */
  readonly #open = new Map<Json, Set<Json>>();
  #depth = 0;

  constructor(from: Json, to: Json, direction: ValueDirection) {
    this.#from = from;
    this.#to = to;
    this.#direction = direction;
  }

  compare(given: unknown, wanted: unknown, path: string): Narrowing[] {
    const from = resolveView({ schema: asSchema(given), document: this.#from }).schema;
    const to = resolveView({ schema: asSchema(wanted), document: this.#to }).schema;
    const open = this.#open.get(from) ?? new Set();
    if (open.has(to)) return [];
    if (this.#depth > MAX_DEPTH) return [{ path, message: "is too deep to compare" }];
    this.#open.set(from, open.add(to));
    this.#depth++;
    try {
      return this.#compareResolved(from, to, path);
    } finally {
      open.delete(to);
      this.#depth--;
    }
  }

  #compareResolved(from: Json, to: Json, path: string): Narrowing[] {
    if (isNever(from) || !Object.keys(to).some(isConstraint)) return [];
    const merged = this.#merge(from);
    const given = splitVariants(merged);
    if (given !== undefined) {
      return given.variants.flatMap((part) => this.compare(combine(given.rest, part), to, path));
    }
    const { allOf, ...beside } = to as { readonly allOf?: readonly unknown[] };
    if (allOf !== undefined) {
      return [beside, ...allOf].flatMap((part) => this.compare(merged, part, path));
    }
    const wanted = splitVariants(to);
    if (wanted === undefined) return this.#compareKeywords(merged, to, path);
    return [
      ...this.compare(merged, wanted.rest, path),
      ...this.#compareWithVariants(merged, wanted.variants, wanted.isExclusive, path),
    ];
  }

  /** Combines the parts of `allOf` if they restrict different keywords. */
  #merge(from: Json): Json {
    const { allOf, ...rest } = from as { readonly allOf?: readonly unknown[] };
    if (allOf === undefined) return from;
    const parts = allOf.map((part) =>
      this.#merge(resolveView({ schema: asSchema(part), document: this.#from }).schema)
    );
    return parts.reduce(combine, rest);
  }

  #compareWithVariants(
    from: Json,
    variants: readonly Json[],
    isExclusive: boolean,
    path: string,
  ): Narrowing[] {
    const values = listValues(from);
    if (values !== undefined && values.length > 1) {
      return values.flatMap((value) =>
        this.#compareWithVariants({ const: value }, variants, isExclusive, path)
      );
    }
    const types = listTypes(from);
    if (values === undefined && types.length > 1) {
      return types.flatMap((type) =>
        this.#compareWithVariants({ ...from, type }, variants, isExclusive, path)
      );
    }
    const found = variants.filter((variant) => this.compare(from, variant, path).length === 0);
    if (found.length === 0) return [{ path, message: "may fit none of the variants" }];
    const others = variants.filter((variant) => variant !== found[0]);
    const isClear = !isExclusive || others.every((other) =>
      areDisjoint(
        resolveView({ schema: asSchema(found[0]), document: this.#to }).schema,
        resolveView({ schema: asSchema(other), document: this.#to }).schema,
      )
    );
    return isClear ? [] : [{ path, message: "may fit two variants where one is allowed" }];
  }

  #compareKeywords(from: Json, to: Json, path: string): Narrowing[] {
    const narrowed = (message: string): Narrowing[] => [{ path, message }];
    if (isNever(to)) return narrowed("may be sent, and no value is allowed");
    const wanted = listValues(to);
    const given = listValues(from);
    if (wanted !== undefined) {
      const values = given ?? from["x-extensible-enum"] as unknown[] ?? listAllValues(from);
      if (values === undefined) return narrowed("may be none of the listed values");
      const refused = values.filter((value) =>
        !wanted.some((each) => isDeepStrictEqual(each, value))
      );
      return refused.length === 0
        ? []
        : narrowed(`may be ${refused.map((value) => JSON.stringify(value)).join(" or ")}`);
    }
    if (given !== undefined && given.length > 1) {
      return given.flatMap((value) => this.#compareKeywords({ const: value }, to, path));
    }
    const exact = given === undefined ? from : describeValue(given[0]);
    const refused = listTypes(exact).filter((type) => !acceptsType(to, type));
    if (refused.length > 0) return narrowed(`may be of the type ${refused.join(" or ")}`);
    return [
      ...compareLimits(exact, to, path),
      ...findObjectNarrowing(
        exact,
        to,
        path,
        (a, b, at) => this.compare(a, b, at),
        this.#direction,
      ),
      ...this.#compareItems(exact, to, path),
      ...compareOthers(exact, to, path),
    ];
  }

  #compareItems(from: Json, to: Json, path: string): Narrowing[] {
    if (!listTypes(from).includes("array")) return [];
    const at = path === "" ? "[]" : `${path}.[]`;
    const inFrom = (from.prefixItems ?? []) as unknown[];
    const inTo = (to.prefixItems ?? []) as unknown[];
    const length = Math.max(inFrom.length, inTo.length);
    const pairs = Array.from(
      { length },
      (
        _,
        index,
      ) => [index in inFrom ? inFrom[index] : from.items, index in inTo ? inTo[index] : to.items],
    );
    return [...pairs, [from.items, to.items]].flatMap(([a, b]) => this.compare(a, b, at));
  }
}

function isNever({ not }: Json): boolean {
  return typeof not === "object" && not !== null && Object.keys(not).length === 0;
}

/** Combines two schemas whose values must fit both. Shared keywords keep the first schema's. */
function combine(one: Json, other: Json): Json {
  const objects = one.properties !== undefined || other.properties !== undefined;
  return {
    ...other,
    ...one,
    ...objects && {
      properties: { ...other.properties as Json, ...one.properties as Json },
      required: [...(one.required ?? []) as string[], ...(other.required ?? []) as string[]],
    },
  };
}

function acceptsType(to: Json, type: string): boolean {
  const types = listTypes(to);
  return types.includes(type) || type === "integer" && types.includes("number");
}

/** Lists the values of a type that has few. */
function listAllValues({ type }: Json): readonly unknown[] | undefined {
  if (type === "boolean") return [true, false];
  return type === "null" ? [null] : undefined;
}

/** Describes one value by the keywords that are compared. */
function describeValue(value: unknown): Json {
  if (value === null) return { type: "null" };
  if (typeof value === "string") {
    const length = [...value].length;
    return { type: "string", const: value, minLength: length, maxLength: length };
  }
  if (typeof value === "number") {
    const type = Number.isInteger(value) ? "integer" : "number";
    return { type, const: value, minimum: value, maximum: value };
  }
  return { type: typeof value, const: value };
}

/** Checks that no value fits both schemas: by their types, or by the values of a property. */
function areDisjoint(one: Json, other: Json): boolean {
  const types = listTypes(other);
  const shared = listTypes(one).filter((type) =>
    types.includes(type) || type === "integer" && types.includes("number") ||
    type === "number" && types.includes("integer")
  );
  if (shared.length === 0) return true;
  const inOne = listValues(one);
  const inOther = listValues(other);
  if (inOne !== undefined && inOther !== undefined) return !haveCommonValue(inOne, inOther);
  const required = ((one.required ?? []) as string[]).filter((name) =>
    ((other.required ?? []) as string[]).includes(name)
  );
  const bothObjects = one.type === "object" && other.type === "object";
  return bothObjects && required.some((name) => {
    const [a, b] = [one, other].map((each) =>
      listValues(asSchema((each.properties as Json)?.[name]))
    );
    return a !== undefined && b !== undefined && !haveCommonValue(a, b);
  });
}

function haveCommonValue(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.some((value) => other.some((each) => isDeepStrictEqual(each, value)));
}

/**
 * Compares the properties of objects. A property that `from` does not declare is never sent, unless
 * `additionalProperties` describes it, or a request accepts any.
 *
 * @param from The schema that values fit.
 * @param to The schema that they must fit.
 * @param path The place of the object.
 * @param compare Compares the schemas of properties.
 * @param direction Where the objects are.
 */
function findObjectNarrowing(
  from: Json,
  to: Json,
  path: string,
  compare: CompareParts,
  direction: ValueDirection,
): Narrowing[] {
  if (!listTypes(from).includes("object")) return [];
  const at = (name: string) => path === "" ? name : `${path}.${name}`;
  const given = (from.properties ?? {}) as Json;
  const wanted = (to.properties ?? {}) as Json;
  const isSent = new Set((from.required ?? []) as string[]);
  const missing = ((to.required ?? []) as string[]).filter((name) => !isSent.has(name))
    .map((name) => ({ path: at(name), message: "may be missing" }));
  const declared = Object.entries(given).flatMap(([name, schema]) => {
    if (Object.hasOwn(wanted, name)) return compare(schema, wanted[name], at(name));
    return compareAdditional(schema, to, at(name), compare);
  });
  const { additionalProperties: others = true } = from;
  if (others === true && direction === "request") {
    return [...missing, ...declared, ...compareAdditional({}, to, at("*"), compare)];
  }
  const isDescribed = from.additionalProperties === true || typeof others === "object";
  if (!isDescribed || others === null) return [...missing, ...declared];
  const other = others === true ? {} : others;
  return [
    ...missing,
    ...declared,
    ...Object.keys(wanted).filter((name) => !Object.hasOwn(given, name))
      .flatMap((name) => compare(other, wanted[name], at(name))),
    ...compareAdditional(other, to, at("*"), compare),
  ];
}

function compareAdditional(
  schema: unknown,
  { additionalProperties = true }: Json,
  path: string,
  compare: CompareParts,
): Narrowing[] {
  if (additionalProperties === true) return [];
  if (additionalProperties === false) {
    return compare(schema, false, path).map(() => ({
      path,
      message: "may be sent, and is not allowed",
    }));
  }
  return compare(schema, additionalProperties, path);
}
