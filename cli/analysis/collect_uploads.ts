import type { Collector } from "./collector.ts";
import { type BucketAccess, DEFER, isUnused, type Path } from "./effects.ts";
import { asObject, readProperty } from "./object_literals.ts";
import type { PackageCollector, PackageUse } from "./package_use.ts";
import { ts } from "./typescript.ts";

/** Step for the use of an upload by `defineUploadHandler`. */
const HANDLER = "\0upload-handler";
/** The same with `onRejected: "keep"`. */
const KEEPING_HANDLER = "\0upload-keeping-handler";

/** Accesses of the uses of an upload. Without `list`, S3 answers 403 in place of 404, which the handler relies on. */
const USES: Readonly<Record<string, readonly BucketAccess[]>> = {
  createForm: ["write"],
  createUrl: ["write"],
  createDownloadUrl: ["read"],
  options: [],
  [HANDLER]: ["list", "read", "delete"],
  [KEEPING_HANDLER]: ["list", "read"],
};

/** The prefixes that `defineUpload` accepts. */
const PREFIX = /^[\w.-]+(?:\/[\w.-]+)*$/;

/** Collectors of the functions that use buckets. */
export const UPLOAD_COLLECTORS: Readonly<Record<string, PackageCollector>> = {
  defineUpload(c, { node, path, rest, given }): void {
    c.unknown(node, path);
    const [options] = given;
    if (options === undefined || isUnused(rest) || path.at(-1) === DEFER) return;
    const access = getAccess(rest);
    // getBucket() and unknown uses: what happens to the bucket is not known
    if (access === undefined) return;
    const object = asObject(c.evaluator.evaluate(options));
    const prefix = object && readProperty(c.evaluator, object, "prefix");
    const isKnown = prefix?.kind === "known" && PREFIX.test(String(prefix.value));
    c.emit({
      kind: "upload",
      node: options,
      access,
      prefix: isKnown ? `${prefix.value}/` : "",
    });
  },
  defineUploadHandler: collectHandler,
};

function getAccess([member]: Path): readonly BucketAccess[] | undefined {
  return typeof member === "string" && Object.hasOwn(USES, member) ? USES[member] : undefined;
}

function collectHandler(c: Collector, { node, path, rest, given }: PackageUse): void {
  const options = given[0] && asObject(c.evaluator.evaluate(given[0]));
  if (options === undefined) return c.unknown(node, path);
  const onRejected = readProperty(c.evaluator, options, "onRejected");
  const keeps = onRejected?.kind === "known" && onRejected.value === "keep";
  for (const property of options.node.properties) {
    const name = property.name && c.evaluator.getKey(property.name, options.bindings);
    const value = ts.isPropertyAssignment(property)
      ? property.initializer
      : ts.isShorthandPropertyAssignment(property)
      ? property.name
      : ts.isSpreadAssignment(property)
      ? property.expression
      : property;
    c.reach(value, name === "upload" ? [keeps ? KEEPING_HANDLER : HANDLER] : []);
  }
  c.release(rest);
}
