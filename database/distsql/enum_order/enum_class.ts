import type { DeclaredEnum } from "../declared/declared_schema.ts";

/** What is known of a value: the enum that it has, that it may have one of some enums, or that it has none. */
export type EnumClass =
  /** An enum for certain. */
  | { readonly is: "enum"; readonly type: DeclaredEnum }
  /** Perhaps an enum. */
  | { readonly is: "maybe"; readonly types: readonly DeclaredEnum[] }
  /** No enum. */
  | { readonly is: "none" };

/** No enum. */
export const NO_ENUM: EnumClass = { is: "none" };

/** Returns the enums that a value may have. */
export function getEnums(one: EnumClass): readonly DeclaredEnum[] {
  return one.is === "enum" ? [one.type] : one.is === "maybe" ? one.types : [];
}

/** What is known of a value that is one of several. */
export function mergeClasses(classes: readonly EnumClass[]): EnumClass {
  const types = [...new Set(classes.flatMap(getEnums))];
  if (types.length === 0) return NO_ENUM;
  const isCertain = types.length === 1 && classes.every((one) => one.is === "enum");
  return isCertain ? { is: "enum", type: types[0] } : { is: "maybe", types };
}

const encoder = new TextEncoder();

/** Compares texts by their bytes, as the collation C does. */
export function compareBytes(a: string, b: string): number {
  const [first, second] = [encoder.encode(a), encoder.encode(b)];
  for (let at = 0; at < Math.min(first.length, second.length); at++) {
    if (first[at] !== second[at]) return first[at] - second[at];
  }
  return first.length - second.length;
}

/** Whether the labels of an enum have the order of their texts, so that text compares as the enum did. */
export function hasTextOrder({ labels }: DeclaredEnum): boolean {
  return labels.every((label, index) => index === 0 || compareBytes(labels[index - 1], label) < 0);
}
