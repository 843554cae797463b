import type { Plugin } from "esbuild";
import { dirname } from "node:path";
import type { ts } from "../../analysis/typescript.ts";
import type { PureExpression } from "./pure_expression.ts";
import { ORIGINAL, renderOriginalModule } from "./schema_code.ts";

const NAMESPACE = ORIGINAL.slice(0, -1);

/** The schemas and constants of the sources by key. */
export interface ExpressionIndex {
  /** Returns the expression of a key. */
  find(key: string): Pick<PureExpression, "node" | "references"> | undefined;
  /** Returns the key of a declaration, which can then be found. */
  getKey(node: ts.VariableDeclaration): string;
}

/**
 * Creates a plugin that resolves `trellis-original:<key>` to the schema of the sources, without the
 * other code of its file.
 */
export function originalSchemasPlugin({ find, getKey }: ExpressionIndex): Plugin {
  return {
    name: "original schemas",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${ORIGINAL}`) }, ({ path }) => ({
        path: path.slice(ORIGINAL.length),
        namespace: NAMESPACE,
        sideEffects: false,
      }));
      // zod is resolved as in the file of the schema
      build.onResolve({ filter: /.*/, namespace: NAMESPACE }, ({ path, importer, kind }) => {
        const file = find(importer)!.node.getSourceFile().fileName;
        return build.resolve(path, {
          kind,
          importer: file,
          namespace: "file",
          resolveDir: dirname(file),
        });
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: renderOriginalModule(find(path)!, getKey),
        loader: "ts",
      }));
    },
  };
}
