import type { DeclaredEnum } from "../../schema/declared_schema.ts";

/** Knowledge about a value: it certainly has an enum type, may have several, or has none. */
export type EnumClass =
  /** Certainly an enum. */
  | { readonly is: "enum"; readonly type: DeclaredEnum }
  /** Possibly an enum. */
  | { readonly is: "maybe"; readonly types: readonly DeclaredEnum[] }
  /** Not an enum. */
  | { readonly is: "none" };

/** Class of values that are not enums. */
export const NO_ENUM: EnumClass = { is: "none" };

/** Returns the enums that a value may have. */
export function getEnums(one: EnumClass): readonly DeclaredEnum[] {
  if (one.is === "enum") return [one.type];
  return one.is === "maybe" ? one.types : [];
}

/** Returns the class of a value with several candidates. */
export function mergeClasses(classes: readonly EnumClass[]): EnumClass {
  const types = [...new Set(classes.flatMap(getEnums))];
  if (types.length === 0) return NO_ENUM;
  const isCertain = types.length === 1 && classes.every((one) => one.is === "enum");
  return isCertain ? { is: "enum", type: types[0] } : { is: "maybe", types };
}

const encoder = new TextEncoder();

/** Compares texts by their bytes, like the collation C. */
function compareBytes(a: string, b: string): number {
  const [first, second] = [encoder.encode(a), encoder.encode(b)];
  for (let at = 0; at < Math.min(first.length, second.length); at++) {
    if (first[at] !== second[at]) return first[at] - second[at];
  }
  return first.length - second.length;
}

/** Checks whether the labels of an enum are in text order, so that text compares like the enum. */
export function hasTextOrder({ labels }: DeclaredEnum): boolean {
  return labels.every((label, index) => index === 0 || compareBytes(labels[index - 1], label) < 0);
}
