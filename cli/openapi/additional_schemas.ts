import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Project } from "../analysis/project.ts";
import type { Slicer } from "../analysis/schema_slice.ts";
import type { SliceUse, SourceLocation } from "../analysis/slice.ts";
import { ts } from "../analysis/typescript.ts";

/** A schema that becomes a component although no operation uses it. */
export interface AdditionalSchema extends SliceUse {
  /** `src/events.ts#NoteEvent` */
  readonly label: string;
}

/**
 * Finds the exports in `openapi.additionalSchemas`.
 *
 * @param slicer Receives the schemas.
 * @param labels The exports: `src/events.ts#NoteEvent`.
 * @param findings Receives exports that do not exist.
 */
export function readAdditionalSchemas(
  project: Project,
  slicer: Slicer,
  labels: readonly string[],
  findings: (SourceLocation & { readonly message: string })[],
): AdditionalSchema[] {
  return labels.flatMap((label) => {
    const expression = findExported(project, label);
    if (expression === undefined) {
      const message = `openapi.additionalSchemas has ${label}, which is not exported`;
      findings.push({ file: "trellis.config.ts", line: 1, message });
      return [];
    }
    return [{ ...slicer.add(expression), label }];
  });
}

function findExported(project: Project, label: string): ts.Expression | undefined {
  const [file, name] = label.split("#");
  const path = resolve(project.root, file);
  if (!existsSync(path)) return undefined;
  const target = project.findExport(project.read(path), name);
  if (target.kind === "expression") return target.node;
  if (target.kind !== "declaration" || !ts.isVariableDeclaration(target.node)) return undefined;
  return ts.isIdentifier(target.node.name) ? target.node.name : undefined;
}
