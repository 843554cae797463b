import { compareText, type Finding } from "../project/findings.ts";
import type { Project } from "./project.ts";
import type { ts } from "./typescript.ts";

/** Collects findings with the functions that reach them. */
export interface Findings {
  add(node: ts.Node, message: string, functionName: string): void;
  /** Returns the findings, sorted by file, line and message. */
  list(): Finding[];
}

/** Creates an empty list of findings. */
export function createFindings(project: Project): Findings {
  const found = new Map<string, Finding & { functions: string[] }>();
  return {
    add(node, message, functionName): void {
      const file = project.getPath(node);
      const line = project.getLine(node);
      const key = `${file}\0${line}\0${message}`;
      const finding = found.get(key) ?? { file, line, message, functions: [] };
      if (!finding.functions.includes(functionName)) finding.functions.push(functionName);
      found.set(key, finding);
    },
    list: () =>
      [...found.values()].sort((a, b) =>
        compareText(a.file, b.file) || a.line - b.line || compareText(a.message, b.message)
      ),
  };
}
