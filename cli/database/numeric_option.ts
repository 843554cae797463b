import { UsageError } from "../terminal/command.ts";

/**
 * Parses the option `--numeric`.
 *
 * @returns Precision and scale; `undefined` if the option is not set.
 * @throws {UsageError} If the value is invalid.
 */
export function readNumeric(
  text: string | undefined,
): { precision: number; scale: number } | undefined {
  if (text === undefined) return undefined;
  const [, precision, scale] = (/^(\d{1,4}),(\d{1,4})$/.exec(text) ?? []).map(Number);
  if (!(precision >= 1 && precision <= 1000 && scale <= precision)) {
    throw new UsageError(
      `--numeric must be <precision,scale>, such as 38,10, got ${JSON.stringify(text)}`,
    );
  }
  return { precision, scale };
}
