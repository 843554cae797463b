import fc from "fast-check";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The contents of a path in a folder. */
export type Entry =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "folder" }
  | { readonly kind: "link"; readonly target: string };

/**
 * Runs a function with a temporary folder, and removes the folder afterwards.
 *
 * @param entries By path in the folder. If two exclude each other, the first is written.
 * @param fn Gets the folder's path.
 */
export async function withFolder(
  entries: Readonly<Record<string, Entry>>,
  fn: (folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "property-"));
  try {
    for (const [name, entry] of Object.entries(entries)) {
      const path = join(folder, name);
      try {
        mkdirSync(dirname(path), { recursive: true });
        if (entry.kind === "text") writeFileSync(path, entry.text);
        else if (entry.kind === "bytes") writeFileSync(path, entry.bytes);
        else if (entry.kind === "folder") mkdirSync(path);
        else symlinkSync(entry.target, path);
      } catch {
        // a name that the file system refuses
      }
    }
    return await fn(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Contents of a path where a text file is expected: a text in some encoding, a folder, a link with or without a target. */
export function entry(text: fc.Arbitrary<string>): fc.Arbitrary<Entry> {
  return fc.oneof(
    { arbitrary: text.map((content) => ({ kind: "text", text: content }) as const), weight: 8 },
    {
      arbitrary: text.map((content) => ({ kind: "text", text: `\ufeff${content}` }) as const),
      weight: 1,
    },
    {
      arbitrary: text.map((content) => ({ kind: "bytes", bytes: utf16(content) }) as const),
      weight: 1,
    },
    {
      arbitrary: fc.uint8Array({ maxLength: 30 }).map((bytes) =>
        ({ kind: "bytes", bytes }) as const
      ),
      weight: 1,
    },
    { arbitrary: fc.constant({ kind: "folder" } as const), weight: 1 },
    {
      arbitrary: fc.constantFrom("nowhere", ".", "..", "0001_a.sql", "/dev/null", "/").map((
        target,
      ) => ({ kind: "link", target }) as const),
      weight: 1,
    },
  );
}

/** As some editors save it. */
function utf16(text: string): Uint8Array {
  const bytes = new Uint8Array(2 + text.length * 2);
  bytes.set([0xff, 0xfe]);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    bytes.set([code & 0xff, code >> 8], 2 + at * 2);
  }
  return bytes;
}
