import { extname } from "node:path";
import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";

/** The text form of a generated document. */
export interface DocumentFormat {
  /** Returns the text of a document, with a newline at the end. */
  render(document: object): string;
  /** Parses a text; `undefined` if it is no object. */
  parse(text: string): Record<string, unknown> | undefined;
}

const JSON_FORMAT: DocumentFormat = {
  render: (document) => `${JSON.stringify(document, null, 2)}\n`,
  parse: (text) => parseObject(() => JSON.parse(text)),
};

/**
 * Returns the format of a file: YAML for `.yaml` and `.yml`, else JSON.
 *
 * @param file The file's name.
 * @throws {ConfigurationError} If the package yaml is needed and not installed.
 */
export async function getDocumentFormat(file: string): Promise<DocumentFormat> {
  if (![".yaml", ".yml"].includes(extname(file))) return JSON_FORMAT;
  const { parse, stringify } = await import("yaml").catch(
    explainMissing(CLI_PACKAGES, "yaml", `The file ${file}`),
  );
  return {
    // aliases for equal parts are hard to read
    render: (document) => stringify(document, { aliasDuplicateObjects: false, lineWidth: 100 }),
    parse: (text) => parseObject(() => parse(text)),
  };
}

function parseObject(read: () => unknown): Record<string, unknown> | undefined {
  try {
    const value = read();
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}
