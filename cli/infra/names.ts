import { createHash } from "node:crypto";
import { groupBy } from "../../core/lists/group_by.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { type Expression, expression } from "./hcl.ts";

/** The tags of all resources. */
export const TAGS: Expression = expression("module.core.common_tags");

/** Arguments with which modules name and tag their resources. */
export const NAMING = { name_prefix: expression("module.core.name_prefix"), tags: TAGS } as const;

/**
 * Converts a function name to the name of a queue, topic or bucket: `SendMail` becomes `send-mail`.
 */
export function kebabCase(name: string): string {
  return snakeCase(name).replaceAll("_", "-");
}

/**
 * Returns distinct Terraform names for distinct texts: `/notes/{noteId}` becomes `notes_note_id`.
 * Texts with the same name get a hash as a suffix. The result does not depend on the order of the
 * texts.
 *
 * @returns Names by text.
 */
export function getIdentifiers(texts: Iterable<string>): ReadonlyMap<string, string> {
  const plain = groupBy(new Set(texts), (text) => {
    const name = snakeCase(text.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_|_$/g, "")) || "root";
    // Terraform names must not begin with a digit
    return /^\d/.test(name) ? `n${name}` : name;
  });
  const names = new Map<string, string>();
  for (const [name, all] of plain) {
    for (const text of all) names.set(text, all.length === 1 ? name : `${name}_${hash(text)}`);
  }
  return names;
}

/**
 * Shortens a name: a name that is too long is cut and gets a hash as a suffix.
 *
 * @param most The maximum length.
 */
export function shorten(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 9)}-${hash(name)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** Converts a name of lower-case letters, digits and single hyphens to a Terraform name. */
export function toIdentifier(name: string): string {
  return name.replaceAll("-", "_");
}

/**
 * Returns the entries of a setting with their Terraform names, sorted.
 *
 * @param settings The setting, whose keys are lower-case letters, digits and single hyphens.
 */
export function listIdentifiers(settings: object): [name: string, id: string][] {
  return Object.keys(settings).sort().map((name) => [name, toIdentifier(name)]);
}
