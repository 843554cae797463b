import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { explainMissing } from "../../env/optional_package.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { createFileError } from "../files/file_error.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
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

/**
 * Parses an OpenAPI document.
 *
 * @param file The file, whose name decides the format.
 * @param text The text. Default: the content of the file.
 * @param label The name of the document in messages.
 * @throws {ConfigurationError} If it cannot be read, or is no OpenAPI document.
 */
export async function readOpenApi(
  file: string,
  text: string = readText(file),
  label: string = file,
): Promise<OpenApiDocument> {
  const document = (await getDocumentFormat(file)).parse(text);
  if (typeof document?.openapi === "string" && typeof document.paths === "object") {
    return document as unknown as OpenApiDocument;
  }
  throw new ConfigurationError(`${label} is not an OpenAPI document`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw createFileError(file, "read", cause);
  }
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
