import { AUTH_COLLECTORS } from "./collect_auth.ts";
import { collectProcess, ENVIRONMENT_COLLECTORS, isProcessModule } from "./collect_environment.ts";
import { collectJobs } from "./collect_jobs.ts";
import { collectMail } from "./collect_mail.ts";
import type { Collector } from "./collector.ts";
import { UPLOAD_COLLECTORS } from "./collect_uploads.ts";
import { isCall, isUnused, type Path } from "./effects.ts";
import { collectPackageQuery, PACKAGE_QUERIES } from "./package_tables.ts";
import type { PackageCollector } from "./package_use.ts";
import type { ts } from "./typescript.ts";
import { isTrellis } from "../project/resolve_module.ts";

/** Collectors by exported name; jobs, mails and queries of the package have their own. */
const COLLECTORS: ReadonlyMap<string, PackageCollector> = new Map(Object.entries(
  {
    ...AUTH_COLLECTORS,
    ...ENVIRONMENT_COLLECTORS,
    ...UPLOAD_COLLECTORS,
    getTablePermissions: (c, { rest }) => c.release(rest),
  } satisfies Record<string, PackageCollector>,
));

/**
 * Collects the use of a name that a package exports. The exports of this package are known; any
 * other package may call its arguments.
 */
export function collectPackage(
  c: Collector,
  node: ts.Node,
  module: string,
  name: string,
  path: Path,
): void {
  if (isUnused(path)) return;
  if (isProcessModule(module)) {
    collectProcess(c, node, name === "default" ? path : [name, ...path]);
  }
  if (!isTrellis(module)) {
    if (c.wrapsTrellis(module)) c.emit({ kind: "wrapper", node, module });
    return c.unknown(node, path);
  }
  if (collectJobs(c, node, name, path) || collectMail(c, node, name, path)) return;
  if (PACKAGE_QUERIES.has(name)) return collectPackageQuery(c, node, name, path);
  const collect = COLLECTORS.get(name);
  if (collect === undefined) return c.unknown(node, path);
  const [first, ...rest] = path;
  const given = isCall(first) ? first.call.arguments ?? [] : [];
  collect(c, { node, name, path, rest, given });
}
