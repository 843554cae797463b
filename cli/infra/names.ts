import { createHash } from "node:crypto";

/**
 * A function's name as a name of Terraform: `NotesByNoteIdGet` is `notes_by_note_id_get`. Two functions whose names differ
 * in more than case never share one.
 *
 * @param name The function's name.
 */
export function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
}

/**
 * A function's name as a name of a queue, topic or bucket: `SendMail` is `send-mail`.
 *
 * @param name The function's name.
 */
export function kebabCase(name: string): string {
  return snakeCase(name).replaceAll("_", "-");
}

/**
 * Names that Terraform takes, for texts that differ: `/notes/{noteId}` is `notes_note_id`, and where another text is that already, a
 * hash tells them apart. The result depends on the texts alone, not on their order.
 *
 * @param texts The texts.
 * @returns Names by text.
 */
export function getIdentifiers(texts: Iterable<string>): ReadonlyMap<string, string> {
  const plain = new Map<string, string[]>();
  for (const text of new Set(texts)) {
    const name = snakeCase(text.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_|_$/g, "")) || "root";
    // a name of Terraform begins with no digit
    const id = /^\d/.test(name) ? `n${name}` : name;
    plain.set(id, [...plain.get(id) ?? [], text]);
  }
  const names = new Map<string, string>();
  for (const [name, all] of plain) {
    for (const text of all) names.set(text, all.length === 1 ? name : `${name}_${hash(text)}`);
  }
  return names;
}

/**
 * A name that is not too long: what is over is cut and told apart by a hash.
 *
 * @param name The name.
 * @param most How many characters it may have.
 */
export function shorten(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 9)}-${hash(name)}`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
