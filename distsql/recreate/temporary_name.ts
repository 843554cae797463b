import { createHash } from "node:crypto";
import { MAX_NAME_BYTES } from "../../sql/sql_name.ts";

/**
 * Returns the temporary name of an object whose final name is still in use. A name that would be
 * too long is truncated, with a hash to keep it unique.
 *
 * @param name The final name.
 * @param suffix Purpose of the temporary name.
 */
export function temporaryName(name: string, suffix: "new" | "old" | "work"): string {
  const end = `__trellis_${suffix}`;
  const encoder = new TextEncoder();
  if (encoder.encode(name + end).length <= MAX_NAME_BYTES) return name + end;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  let cut = name;
  while (encoder.encode(`${cut}_${hash}${end}`).length > MAX_NAME_BYTES) {
    cut = [...cut].slice(0, -1).join("");
  }
  return `${cut}_${hash}${end}`;
}
